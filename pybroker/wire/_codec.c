/* The hot path in C: twins of pure_scan, pure_encode and pure_on_channel in content.py, which are the reference.

   It knows frames and octets as content.py does, and no AMQP state. Whatever is out of the ordinary in a message's
   properties is left to Python's attributes_for: what is decided here is only that nothing is. Each length is compared
   with what is there before it is used: octets come from a peer. tests/wire/test_codec.py compares the twins,
   tests/fuzz/test_codec.py says how to run this under sanitizers. */

#ifndef PYBROKER_FULL_API
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* content.py does not use a codec of another number: raise both when signatures or meanings change. */
#define SEAM 3

enum { METHOD = 1, HEADER = 2, BODY = 3, FRAME_END = 0xCE };
#define PUBLISH (60u << 16 | 40u)
#define ACK (60u << 16 | 80u)
#define BASIC (60u << 16)

#define JOIN_OCTETS_MAX 4096
#define TABLE_DEPTH_MAX 32
#define TABLE_ENTRIES_MAX 1024
#define KEY_OCTETS_MAX 128
#define EXPIRATION_DIGITS_MAX 11
#define WANTS_USER_ID 4u
#define WANTS_REPLY_TO 8u
#define WANTS_FILTER 32u

/* Kinds of messages whose RunAttributes are kept at hand, by what kind_of says; a kind has one place. */
#define KINDS 256

typedef struct {
    PyObject *attributes_for; /* property octets -> RunAttributes */
    PyObject *error;          /* what attributes_for raises for a message that the frame path is to refuse */
    struct {
        int64_t kind;
        PyObject *attributes;
    } known[KINDS];
} State;

static inline unsigned u16(const uint8_t *p) { return (unsigned)p[0] << 8 | p[1]; }
static inline uint32_t u32(const uint8_t *p) { return (uint32_t)u16(p) << 16 | u16(p + 2); }
static inline uint64_t u64(const uint8_t *p) { return (uint64_t)u32(p) << 32 | u32(p + 4); }

/* -- properties --------------------------------------------------------------------------------------------------- */

/* Octets of a field's value by the letter of its type, plus one; 0 is no type. */
enum { LONGSTR = 100, TABLE, ARRAY };
static const uint8_t value_sizes[256] = {
    ['V'] = 1, ['t'] = 2, ['b'] = 2, ['B'] = 2, ['s'] = 3, ['u'] = 3, ['I'] = 5, ['i'] = 5, ['f'] = 5, ['D'] = 6,
    ['l'] = 9, ['L'] = 9, ['d'] = 9, ['T'] = 9, ['S'] = LONGSTR, ['x'] = LONGSTR, ['F'] = TABLE, ['A'] = ARRAY,
};

static bool is_ascii(const uint8_t *p, size_t n)
{
    uint8_t all = 0;
    for (size_t i = 0; i < n; i++)
        all |= p[i];
    return all < 0x80;
}

/* Headers that change where or when a message goes. */
static bool matters(const uint8_t *key, size_t n)
{
    return (n == 2 && !memcmp(key, "CC", 2)) || (n == 3 && !memcmp(key, "BCC", 3)) ||
           (n == 7 && !memcmp(key, "x-delay", 7));
}

/* Return the end of the field table at `p`, NULL where Python is to look at it: see validate.check_table. A filter value
   is added to `wants`. */
static const uint8_t *table_end(const uint8_t *p, const uint8_t *end, unsigned *wants)
{
    static const char filter_value[] = "x-stream-filter-value";
    const uint8_t *stops[TABLE_DEPTH_MAX];
    bool arrays[TABLE_DEPTH_MAX], in_array = false;
    int depth = 0, entries = 0;
    if (end - p < 4 || (size_t)(end - p - 4) < u32(p))
        return NULL;
    const uint8_t *stop = p + 4 + u32(p);
    p += 4;
    for (;;) {
        while (p == stop) {
            if (!depth)
                return p;
            stop = stops[--depth];
            in_array = arrays[depth];
        }
        if (++entries > TABLE_ENTRIES_MAX)
            return NULL;
        if (!in_array) {
            size_t n = *p++;
            if ((size_t)(stop - p) <= n || n > KEY_OCTETS_MAX || !is_ascii(p, n) || (!depth && matters(p, n)))
                return NULL;
            if (n == sizeof filter_value - 1 && !depth && !memcmp(p, filter_value, n))
                *wants |= WANTS_FILTER;
            p += n;
        }
        size_t size = value_sizes[*p++];
        if (!size--)
            return NULL;
        if (size >= LONGSTR - 1) {
            bool nested = size != LONGSTR - 1;
            if (stop - p < 4)
                return NULL;
            bool array = size == ARRAY - 1;
            size = u32(p);
            p += 4;
            if (nested) {
                if ((size_t)(stop - p) < size || depth + 1 >= TABLE_DEPTH_MAX)
                    return NULL;
                stops[depth] = stop;
                arrays[depth++] = in_array;
                stop = p + size;
                in_array = array;
                continue;
            }
        }
        if ((size_t)(stop - p) < size)
            return NULL;
        p += size;
    }
}

/* Return milliseconds plus one; 0 where Python is to read it. */
static uint64_t expiration_of(const uint8_t *p, size_t n)
{
    uint64_t ms = 0;
    if (!n || n > EXPIRATION_DIGITS_MAX)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return 0;
        ms = ms * 10 + (p[i] - '0');
    }
    return ms + 1;
}

/* Return what properties.attributes_of would find, as one number, or -1 where Python must look: at faults above all. */
static int64_t kind_of(const uint8_t *p, const uint8_t *end)
{
    static const char fast_reply_to[] = "amq.rabbitmq.reply-to";
    unsigned mode = 1, priority = 0, wants = 0;
    uint64_t ttl = 0;
    if (end - p < 2)
        return -1;
    unsigned flags = u16(p);
    p += 2;
    if (flags & 3)
        return -1;
    for (unsigned flag = 1u << 15; flags; flag >>= 1) {
        if (!(flags & flag))
            continue;
        flags ^= flag;
        if (flag == 1u << 13) {
            p = table_end(p, end, &wants);
            if (!p)
                return -1;
            continue;
        }
        if (p == end)
            return -1;
        if (flag == 1u << 12)
            mode = *p++;
        else if (flag == 1u << 11)
            priority = *p++;
        else if (flag == 1u << 6) {
            if (end - p < 8)
                return -1;
            p += 8;
        } else {
            size_t n = *p++;
            if ((size_t)(end - p) < n)
                return -1;
            if (flag == 1u << 8 && !(ttl = expiration_of(p, n)))
                return -1;
            if (flag == 1u << 9 && n == sizeof fast_reply_to - 1 && !memcmp(p, fast_reply_to, n))
                wants |= WANTS_REPLY_TO;
            if (flag == 1u << 4) {
                if (!is_ascii(p, n))
                    return -1;
                wants |= WANTS_USER_ID;
            }
            p += n;
        }
    }
    if (p != end || mode < 1 || mode > 2)
        return -1;
    return (int64_t)(ttl << 16 | wants << 9 | priority << 1 | (mode - 1));
}

/* Return the RunAttributes of a message, a new reference; NULL with an exception. */
static PyObject *find_attributes(State *state, int64_t kind, const uint8_t *p, const uint8_t *end)
{
    unsigned at = kind < 0 ? 0 : (unsigned)((uint64_t)kind * 0x9E3779B97F4A7C15u >> 56) % KINDS;
    PyObject *known = state->known[at].attributes;
    if (kind >= 0 && known && state->known[at].kind == kind) {
        Py_INCREF(known);
        return known;
    }
    PyObject *octets = PyBytes_FromStringAndSize((const char *)p, end - p);
    if (!octets)
        return NULL;
    PyObject *attributes = PyObject_CallFunctionObjArgs(state->attributes_for, octets, NULL);
    Py_DECREF(octets);
    if (attributes && kind >= 0) {
        known = state->known[at].attributes;
        Py_INCREF(attributes);
        state->known[at].attributes = attributes;
        state->known[at].kind = kind;
        Py_XDECREF(known);
    }
    return attributes;
}

/* -- scan --------------------------------------------------------------------------------------------------------- */

/* An event that grows: messages of one route with equal attributes. `items` are owned references. */
typedef struct {
    PyObject *out, *route, *attributes;
    int64_t kind, octets, body_octets, first_size;
    PyObject **items;
    size_t n, room;
    PyObject *some[256];
} Event;

static int add(Event *event, PyObject *content)
{
    if (event->n == event->room) {
        size_t room = event->room * 4;
        PyObject **old = event->items == event->some ? NULL : event->items;
        PyObject **items = PyMem_Realloc(old, room * sizeof *items);
        if (!items) {
            PyErr_NoMemory();
            return -1;
        }
        if (!old)
            memcpy(items, event->some, sizeof event->some);
        event->items = items;
        event->room = room;
    }
    Py_INCREF(content);
    event->items[event->n++] = content;
    return 0;
}

/* Append `item` to `out`, and let go of it. */
static int give(PyObject *out, PyObject *item)
{
    int failed = item ? PyList_Append(out, item) : -1;
    Py_XDECREF(item);
    return failed;
}

/* Put what was gathered into `out`. */
static int flush(Event *event)
{
    if (!event->n)
        return 0;
    PyObject *contents = PyList_New((Py_ssize_t)event->n);
    if (!contents)
        return -1;
    for (size_t i = 0; i < event->n; i++)
        PyList_SetItem(contents, (Py_ssize_t)i, event->items[i]); /* takes the reference; the index is inside */
    event->n = 0;
    PyObject *tuple = Py_BuildValue("(OONLLL)", event->route, event->attributes, contents, (long long)event->octets,
                                    (long long)event->body_octets, (long long)event->first_size);
    event->octets = event->body_octets = 0;
    return give(event->out, tuple);
}

static void release(Event *event)
{
    while (event->n)
        Py_DECREF(event->items[--event->n]);
    if (event->items != event->some)
        PyMem_Free(event->items);
    Py_CLEAR(event->route);
    Py_CLEAR(event->attributes);
}

/* Return where the frame-end of the last of some body frames is, `size` octets in all; 0 if not all is there. */
static size_t body_end(const uint8_t *data, size_t at, size_t end, unsigned channel, uint64_t size, uint64_t octets_max)
{
    do {
        if (end - at < 8)
            return 0;
        uint64_t length = u32(data + at + 3);
        if (data[at] != BODY || u16(data + at + 1) != channel || length > octets_max || !length || length > size ||
            length > end - at - 8 || data[at + 7 + length] != FRAME_END)
            return 0;
        at += 8 + length;
        size -= length;
    } while (size);
    return at - 1;
}

/* Read messages as long as they follow each other; return 1 to go on at *position, 0 to stop there, -1 for an error. */
static int scan_publishes(State *state, const uint8_t *data, size_t end, size_t *position, PyObject *routes,
                          uint64_t octets_max, uint64_t message_max, Event *event)
{
    size_t start = *position, here = start, method_at = 0, method_octets = 0;
    unsigned channel = 0;
    for (;;) {
        if (!method_octets || end - here < method_octets || memcmp(data + here, data + method_at, method_octets)) {
            if (end - here < 12)
                break;
            uint64_t length = u32(data + here + 3);
            if (data[here] != METHOD || u32(data + here + 7) != PUBLISH || length > octets_max ||
                length > end - here - 8)
                break;
            PyObject *frame = PyBytes_FromStringAndSize((const char *)data + here, (Py_ssize_t)length + 8);
            if (!frame)
                return -1;
            PyObject *known = PyDict_GetItemWithError(routes, frame);
            Py_XINCREF(known);
            Py_DECREF(frame);
            if (!known && PyErr_Occurred())
                return -1;
            if (!known || known == Py_None) {
                Py_XDECREF(known);
                break;
            }
            if (flush(event)) {
                Py_DECREF(known);
                return -1;
            }
            Py_XDECREF(event->route);
            event->route = known;
            Py_CLEAR(event->attributes);
            method_at = here;
            method_octets = length + 8;
            channel = u16(data + here + 1);
        }
        size_t at = here + method_octets;
        if (end - at < 22)
            break;
        const uint8_t *header = data + at;
        uint64_t length = u32(header + 3), size = u64(header + 11);
        if (header[0] != HEADER || u16(header + 1) != channel || u32(header + 7) != BASIC || length > octets_max ||
            size > message_max || length < 14 || length >= end - at - 7 || header[7 + length] != FRAME_END)
            break;
        size_t stop = at + 7 + length;
        if (size && !(stop = body_end(data, stop + 1, end, channel, size, octets_max)))
            break;
        int64_t kind = kind_of(header + 19, header + 7 + length);
        if (kind < 0 || !event->attributes || kind != event->kind) {
            PyObject *attributes = find_attributes(state, kind, header + 19, header + 7 + length);
            if (!attributes) {
                if (!PyErr_ExceptionMatches(state->error))
                    return -1;
                PyErr_Clear();
                break;
            }
            event->kind = kind;
            int differs = event->attributes ? PyObject_RichCompareBool(attributes, event->attributes, Py_NE) : 1;
            if (differs < 0 || (differs && flush(event))) {
                Py_DECREF(attributes);
                return -1;
            }
            if (differs) {
                Py_XDECREF(event->attributes);
                event->attributes = attributes;
                event->first_size = (int64_t)size;
            } else
                Py_DECREF(attributes);
        }
        if ((int64_t)size != event->first_size)
            event->first_size = -1;
        size_t each = ++stop - at, whole = stop - here;
        PyObject *content = PyBytes_FromStringAndSize((const char *)header, (Py_ssize_t)each);
        if (!content)
            return -1;
        /* A flood of equal messages is one object: Run.pack and memory_usage count on it. */
        do {
            if (add(event, content)) {
                Py_DECREF(content);
                return -1;
            }
            event->octets += (int64_t)each;
            event->body_octets += (int64_t)size;
            here += whole;
        } while (end - here >= whole && !memcmp(data + here, data + here - whole, whole));
        Py_DECREF(content);
    }
    *position = here;
    return flush(event) ? -1 : here != start;
}

static int give_acks(PyObject *out, unsigned channel, uint64_t first, uint64_t last, bool multiple)
{
    return give(out, Py_BuildValue("(OIKKO)", Py_None, channel, (unsigned long long)first, (unsigned long long)last,
                                   multiple ? Py_True : Py_False));
}

/* Read basic.ack frames of one channel; single ones of consecutive tags become one event. Returns as the one above. */
static int scan_acks(const uint8_t *data, size_t end, size_t *position, PyObject *out)
{
    size_t start = *position, here = start;
    unsigned channel = u16(data + start + 1);
    uint64_t first = 0, last = 0;
    int failed = 0;
    for (; end - here >= 21 && !memcmp(data + here, data + start, 11) && !failed; here += 21) {
        uint64_t tag = u64(data + here + 11);
        if (data[here + 20] != FRAME_END)
            break;
        bool multiple = data[here + 19] & 1;
        if (!multiple && first && tag && tag - 1 == last) {
            last = tag;
            continue;
        }
        if (first)
            failed = give_acks(out, channel, first, last, false);
        if (!failed && (multiple || !tag))
            failed = give_acks(out, channel, tag, tag, multiple);
        first = last = multiple ? 0 : tag;
    }
    if (first && !failed)
        failed = give_acks(out, channel, first, last, false);
    *position = here;
    return failed ? -1 : here != start;
}

static bool fits(bool right, const char *signature)
{
    if (!right && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, signature);
    return right && !PyErr_Occurred();
}

static PyObject *scan(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    State *state = PyModule_GetState(module);
    bool right = given == 6 && PyBytes_Check(args[0]) && PyDict_Check(args[2]) && PyList_Check(args[5]);
    Py_ssize_t start = right ? PyLong_AsSsize_t(args[1]) : 0;
    Py_ssize_t octets_max = right && !PyErr_Occurred() ? PyLong_AsSsize_t(args[3]) : 0;
    Py_ssize_t message_max = right && !PyErr_Occurred() ? PyLong_AsSsize_t(args[4]) : 0;
    if (!fits(right && state->attributes_for && start >= 0 && octets_max >= 0 && message_max >= 0,
              "scan(bytes, start, dict, octets_max, message_max, list), numbers not negative, after bind"))
        return NULL;
    const uint8_t *data = (const uint8_t *)PyBytes_AsString(args[0]);
    size_t end = (size_t)PyBytes_Size(args[0]), position = (size_t)start;
    Event event = {.out = args[5], .items = event.some, .room = sizeof event.some / sizeof *event.some};
    int more = 1;
    while (more > 0 && position <= end && end - position >= 12 && data[position] == METHOD) {
        uint32_t method = u32(data + position + 7);
        if (method == PUBLISH)
            more = scan_publishes(state, data, end, &position, args[2], (uint64_t)octets_max, (uint64_t)message_max,
                                  &event);
        else if (method == ACK && u32(data + position + 3) == 13 && u16(data + position + 1))
            more = scan_acks(data, end, &position, args[5]);
        else
            break;
    }
    release(&event);
    return more < 0 ? NULL : PyLong_FromSize_t(position);
}

/* -- encode ------------------------------------------------------------------------------------------------------- */

/* What stands before each content: a frame, with a delivery tag in the middle. */
typedef struct {
    const char *head, *tail;
    size_t head_octets, tail_octets, octets;
} Frame;

static char *put_tag(char *at, uint64_t tag)
{
    for (int shift = 56; shift >= 0; shift -= 8)
        *at++ = (char)(tag >> shift);
    return at;
}

static char *put_frame(char *at, const Frame *frame, uint64_t tag)
{
    memcpy(at, frame->head, frame->head_octets);
    at = put_tag(at + frame->head_octets, tag);
    memcpy(at, frame->tail, frame->tail_octets);
    return at + frame->tail_octets;
}

/* Point to content `i`, borrowed, and its octets; return how many, -1 with an exception where there is none. */
static Py_ssize_t content_at(PyObject *contents, Py_ssize_t i, PyObject **content, char **octets)
{
    Py_ssize_t size;
    *content = PyList_GetItem(contents, i);
    return *content && !PyBytes_AsStringAndSize(*content, octets, &size) ? size : -1;
}

/* Append for each content its frame and itself, not copied; return the octets of the contents, -1 for an error. */
static Py_ssize_t give_parts(PyObject *out, const Frame *frame, uint64_t tag, PyObject *contents, Py_ssize_t n)
{
    Py_ssize_t total = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *content, *before;
        char *octets;
        Py_ssize_t size = content_at(contents, i, &content, &octets);
        if (size < 0 || !(before = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)frame->octets)))
            return -1;
        put_frame(PyBytes_AsString(before), frame, tag + (uint64_t)i);
        if (give(out, before) || PyList_Append(out, content))
            return -1;
        total += size;
    }
    return total;
}

/* Return one block of all, NULL with an exception. */
static PyObject *join(const Frame *frame, uint64_t tag, PyObject *contents, Py_ssize_t n)
{
    PyObject *content, *last = NULL;
    char *octets;
    Py_ssize_t size;
    size_t total = 0, whole = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        if ((size = content_at(contents, i, &content, &octets)) < 0)
            return NULL;
        total += frame->octets + (size_t)size;
        if (total > PY_SSIZE_T_MAX / 2)
            return PyErr_NoMemory();
    }
    PyObject *block = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)total);
    if (!block)
        return NULL;
    char *at = PyBytes_AsString(block), *end = at + total;
    for (Py_ssize_t i = 0; i < n; i++, tag++) {
        if ((size = content_at(contents, i, &content, &octets)) < 0 || (size_t)(end - at) < frame->octets + (size_t)size) {
            Py_DECREF(block);
            return PyErr_Occurred() ? NULL : PyErr_NoMemory();
        }
        if (content == last) {
            /* One of a flood: what stands before it is right but for the tag. */
            memcpy(at, at - whole, whole);
            put_tag(at + frame->head_octets, tag);
        } else {
            memcpy(put_frame(at, frame, tag), octets, (size_t)size);
            whole = frame->octets + (size_t)size;
            last = content;
        }
        at += whole;
    }
    return block;
}

static PyObject *encode(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given)
{
    bool right = given == 6 && PyList_Check(args[0]) && PyBytes_Check(args[1]) && PyBytes_Check(args[3]) &&
                 PyList_Check(args[4]);
    uint64_t tag = right ? PyLong_AsUnsignedLongLong(args[2]) : 0;
    Py_ssize_t about = right && !PyErr_Occurred() ? PyLong_AsSsize_t(args[5]) : 0;
    if (!fits(right, "encode(list, bytes, first_tag, bytes, list, octets)"))
        return NULL;
    Py_ssize_t n = PyList_Size(args[4]), size = 0;
    if (n && tag + (uint64_t)(n - 1) < tag) {
        PyErr_SetString(PyExc_OverflowError, "a delivery tag has 64 bits");
        return NULL;
    }
    Frame frame = {.head = PyBytes_AsString(args[1]), .tail = PyBytes_AsString(args[3])};
    frame.head_octets = (size_t)PyBytes_Size(args[1]);
    frame.tail_octets = (size_t)PyBytes_Size(args[3]);
    frame.octets = frame.head_octets + 8 + frame.tail_octets;
    PyObject *content;
    char *octets;
    if (n == 1 && (about = content_at(args[4], 0, &content, &octets)) < 0)
        return NULL;
    if (about > JOIN_OCTETS_MAX * n) {
        size = give_parts(args[0], &frame, tag, args[4], n);
        return size < 0 ? NULL : PyLong_FromSsize_t(size + n * (Py_ssize_t)frame.octets);
    }
    PyObject *block = join(&frame, tag, args[4], n);
    if (block)
        size = PyBytes_Size(block);
    return give(args[0], block) ? NULL : PyLong_FromSsize_t(size);
}

/* Return a content with another channel number in each of its frames; NULL with an exception. */
static PyObject *with_channel(const char *octets, Py_ssize_t size, unsigned channel)
{
    PyObject *copy = PyBytes_FromStringAndSize(octets, size);
    if (!copy)
        return NULL;
    uint8_t *at = (uint8_t *)PyBytes_AsString(copy);
    for (size_t left = (size_t)size, whole; left; at += whole, left -= whole) {
        whole = left < 8 ? 0 : 8 + (size_t)u32(at + 3);
        if (!whole || whole > left) {
            Py_DECREF(copy);
            PyErr_SetString(PyExc_ValueError, "a content is not whole frames");
            return NULL;
        }
        at[1] = (uint8_t)(channel >> 8);
        at[2] = (uint8_t)channel;
    }
    return copy;
}

static PyObject *on_channel(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given)
{
    bool right = given == 2 && PyList_Check(args[0]);
    unsigned long channel = right ? PyLong_AsUnsignedLong(args[1]) : 0;
    if (!fits(right, "on_channel(list, channel)"))
        return NULL;
    if (channel > UINT16_MAX) {
        PyErr_SetString(PyExc_OverflowError, "a channel number has 16 bits");
        return NULL;
    }
    Py_ssize_t n = PyList_Size(args[0]), size;
    PyObject *out = PyList_New(n), *content, *last = NULL, *copy = NULL;
    char *octets;
    for (Py_ssize_t i = 0; out && i < n; i++) {
        if ((size = content_at(args[0], i, &content, &octets)) < 0)
            copy = NULL;
        else if (content == last)
            Py_INCREF(copy); /* one of a flood; the list has a reference to what it became */
        else
            copy = with_channel(octets, size, (unsigned)channel);
        last = content;
        if (!copy || PyList_SetItem(out, i, copy))
            Py_CLEAR(out);
    }
    return out;
}

/* -- module ------------------------------------------------------------------------------------------------------- */

static PyObject *bind(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    State *state = PyModule_GetState(module);
    if (!fits(given == 2 && PyCallable_Check(args[0]) && PyExceptionClass_Check(args[1]), "bind(callable, exception)"))
        return NULL;
    PyObject *old[] = {state->attributes_for, state->error};
    Py_INCREF(args[0]);
    Py_INCREF(args[1]);
    state->attributes_for = args[0];
    state->error = args[1];
    Py_XDECREF(old[0]);
    Py_XDECREF(old[1]);
    Py_RETURN_NONE;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    State *state = PyModule_GetState(module);
    Py_VISIT(state->attributes_for);
    Py_VISIT(state->error);
    for (int i = 0; i < KINDS; i++)
        Py_VISIT(state->known[i].attributes);
    return 0;
}

static int clear(PyObject *module)
{
    State *state = PyModule_GetState(module);
    Py_CLEAR(state->attributes_for);
    Py_CLEAR(state->error);
    for (int i = 0; i < KINDS; i++)
        Py_CLEAR(state->known[i].attributes);
    return 0;
}

static void dispose(void *module) { clear(module); }

static int execute(PyObject *module) { return PyModule_AddIntConstant(module, "SEAM", SEAM); }

#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL
static PyMethodDef methods[] = {
    {"scan", FAST(scan), "scan(data, start, routes, octets_max, message_max, out): see content.pure_scan."},
    {"encode", FAST(encode), "encode(out, head, first_tag, tail, contents, octets): see content.pure_encode."},
    {"on_channel", FAST(on_channel), "on_channel(contents, channel): see content.pure_on_channel."},
    {"bind", FAST(bind), "bind(attributes_for, error): whom to ask about properties, and what it raises for bad ones."},
    {NULL, NULL, 0, NULL},
};
static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)execute}, {0, NULL}};
static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "pybroker.wire._codec",
    .m_doc = "The hot path in C; content.py is its reference.",
    .m_size = sizeof(State),
    .m_methods = methods,
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = dispose,
};

PyMODINIT_FUNC PyInit__codec(void) { return PyModuleDef_Init(&definition); }
