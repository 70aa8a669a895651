/* Entries of the stream protocol in C: twins of pure_scan, pure_scan_filtered, pure_cut and pure_split in entries.py,
   which are the reference.

   Each length is compared with what is there before it is used: octets come from a peer. What a frame says of itself
   gives the size of what is made of it, and that is less than the frame. tests/wire/stream/test_entries.py compares the
   twins, and says how to run this under sanitizers. */

#ifndef PYBROKER_FULL_API
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* entries.py does not use a module of another number: raise both when signatures or meanings change. */
#define SEAM 3

#define PUBLISH_1 (2u << 16 | 1u) /* key and version */
#define PUBLISH_2 (2u << 16 | 2u)
#define HEAD_OCTETS 13
#define SIZE_OCTETS 4
#define ID_OCTETS 8
#define FILTER_OCTETS 2 /* in front of a filter value */
#define BLOOM_OCTETS_MAX 255
#define HASHED_OCTETS_MAX 256
#define LENGTH_OCTETS 4
#define BATCH_OCTETS 11
#define BATCH_BIT 0x80000000u
#define ENTRIES_MAX 65535u
#define DATA_OCTETS_MAX 1040000u
#define FILTERED_ENTRIES_MAX 100u
#define FILTERED_OCTETS_MAX 8192u
/* Entries up to this length are copied as so many octets, where these are there on both sides. */
#define SHORT_OCTETS 32

static inline uint32_t u16(const uint8_t *p) { return (uint32_t)p[0] << 8 | p[1]; }
static inline uint32_t u32(const uint8_t *p) { return u16(p) << 16 | u16(p + 2); }
static inline uint64_t u64(const uint8_t *p) { return (uint64_t)u32(p) << 32 | u32(p + 4); }

/* Return the octets of the entry at `p`, 0 if it is malformed or not all there; its messages are added to *messages. */
static inline size_t entry_octets(const uint8_t *p, size_t there, uint64_t *messages)
{
    if (there < LENGTH_OCTETS)
        return 0;
    size_t length = u32(p);
    if (length < BATCH_BIT) {
        *messages += 1;
        return length <= there - LENGTH_OCTETS ? LENGTH_OCTETS + length : 0;
    }
    if (there < BATCH_OCTETS || !u16(p + 1))
        return 0;
    length = u32(p + 7);
    *messages += u16(p + 1);
    return length <= there - BATCH_OCTETS ? BATCH_OCTETS + length : 0;
}

/* -- scan --------------------------------------------------------------------------------------------------------- */

/* The filter values of all frames: see wire/stream/bloom.py. `value` is the one that was added last. */
typedef struct {
    unsigned octets;
    bool has_values;
    uint8_t bits[BLOOM_OCTETS_MAX];
    const uint8_t *value;
    size_t value_octets;
} Bloom;

static inline void set_bit(Bloom *bloom, uint64_t number)
{
    uint64_t bit = 1 + number % (8 * bloom->octets - 1);
    bloom->bits[bit / 8] |= (uint8_t)(1u << bit % 8);
}

static void add_value(Bloom *bloom, const uint8_t *value, size_t octets)
{
    /* Neighbours often have the same. */
    if (bloom->has_values && bloom->value_octets == octets && !memcmp(bloom->value, value, octets))
        return;
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < octets && i < HASHED_OCTETS_MAX; i++)
        hash = (hash ^ value[i]) * 0x100000001B3u;
    hash ^= hash >> 33;
    hash *= 0xFF51AFD7ED558CCDu;
    hash ^= hash >> 33;
    set_bit(bloom, hash & 0xFFFFFFFFu);
    set_bit(bloom, hash >> 32);
    bloom->has_values = true;
    bloom->value = value;
    bloom->value_octets = octets;
}

/* The head of a Publish frame that is there. `data_octets` has the filter values, too. */
typedef struct {
    size_t octets, data_octets;
    uint32_t number;
    uint8_t publisher;
} Frame;

static inline bool read_head(const uint8_t *p, size_t there, bool filtered, Frame *frame)
{
    if (there < HEAD_OCTETS || u32(p + 4) != (filtered ? PUBLISH_2 : PUBLISH_1))
        return false;
    const unsigned in_front = ID_OCTETS + (filtered ? FILTER_OCTETS : 0);
    uint64_t size = u32(p), number = u32(p + 9);
    if (size > there - SIZE_OCTETS || size < HEAD_OCTETS - SIZE_OCTETS)
        return false;
    uint64_t rest = size - (HEAD_OCTETS - SIZE_OCTETS);
    if (rest < number * (in_front + LENGTH_OCTETS))
        return false;
    frame->octets = (size_t)size + SIZE_OCTETS;
    frame->data_octets = (size_t)(rest - number * in_front);
    frame->number = (uint32_t)number;
    frame->publisher = p[8];
    return true;
}

/* Copy the ids and entries of a frame; return its number of messages, -1 if it is malformed. `room` is behind `data`, and
   what is left of it is told. Filter values go into the bloom, if there is one. */
static inline int64_t copy_frame(const uint8_t *p, const Frame *frame, uint8_t *data, size_t *left, uint8_t *ids,
                                 Bloom *bloom)
{
    const uint8_t *stop = p + frame->octets;
    uint64_t messages = 0;
    size_t room = *left;
    p += HEAD_OCTETS;
    for (uint32_t i = 0; i < frame->number; i++) {
        if ((size_t)(stop - p) < ID_OCTETS)
            return -1;
        memcpy(ids, p, ID_OCTETS);
        ids += ID_OCTETS;
        p += ID_OCTETS;
        if (bloom) {
            if ((size_t)(stop - p) < FILTER_OCTETS)
                return -1;
            uint32_t length = u16(p);
            p += FILTER_OCTETS;
            if (length == 0xFFFFu)
                bloom->bits[0] |= 1;
            else if (length > 0x7FFFu || (size_t)(stop - p) < length)
                return -1;
            else {
                add_value(bloom, p, length);
                p += length;
            }
        }
        size_t octets = entry_octets(p, (size_t)(stop - p), &messages);
        if (!octets || octets > room)
            return -1;
        if (octets <= SHORT_OCTETS && room >= SHORT_OCTETS && (size_t)(stop - p) >= SHORT_OCTETS)
            memcpy(data, p, SHORT_OCTETS);
        else
            memcpy(data, p, octets);
        if (data[0] & 0x80)
            data[0] &= 0xF0;
        data += octets;
        room -= octets;
        p += octets;
    }
    *left = room;
    return p == stop ? (int64_t)messages : -1;
}

/* Return a copy of the first `octets`, and let go of the whole. */
static PyObject *shortened(PyObject *whole, size_t octets)
{
    PyObject *part = PyBytes_FromStringAndSize(PyBytes_AsString(whole), (Py_ssize_t)octets);
    Py_DECREF(whole);
    return part;
}

/* With a bloom the frames are of version 2. */
static inline PyObject *scan_octets(const uint8_t *start, size_t at, size_t stop, Bloom *bloom)
{
    Frame frame;
    const size_t octets_max = bloom ? FILTERED_OCTETS_MAX : DATA_OCTETS_MAX;
    const uint64_t entries_max = bloom ? FILTERED_ENTRIES_MAX : ENTRIES_MAX;
    size_t here = at, data_octets = 0;
    uint64_t entries = 0;
    uint8_t publisher = 0;
    /* The heads say how much it is; whether they are true is seen while copying. */
    while (read_head(start + here, stop - here, bloom, &frame)) {
        if (here != at && (frame.publisher != publisher || data_octets + frame.data_octets > octets_max ||
                           entries + frame.number > entries_max))
            break;
        publisher = frame.publisher;
        data_octets += frame.data_octets;
        entries += frame.number;
        here += frame.octets;
    }
    if (here == at)
        Py_RETURN_NONE;
    PyObject *data = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)data_octets);
    PyObject *ids = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(entries * ID_OCTETS));
    if (!data || !ids) {
        Py_XDECREF(data);
        Py_XDECREF(ids);
        return NULL;
    }
    uint8_t *to = (uint8_t *)PyBytes_AsString(data), *id = (uint8_t *)PyBytes_AsString(ids);
    size_t left = data_octets, copied = at;
    uint64_t taken = 0, messages = 0;
    while (copied < here && read_head(start + copied, stop - copied, bloom, &frame)) {
        Bloom before;
        size_t more = left;
        if (bloom)
            before = *bloom;
        int64_t found = copy_frame(start + copied, &frame, to + (data_octets - left), &more, id + taken * ID_OCTETS, bloom);
        if (found < 0) {
            if (bloom)
                *bloom = before;
            break;
        }
        messages += (uint64_t)found;
        left = more;
        taken += frame.number;
        copied += frame.octets;
    }
    if (copied == at) {
        Py_DECREF(data);
        Py_DECREF(ids);
        Py_RETURN_NONE;
    }
    if (left)
        data = shortened(data, data_octets - left);
    if (copied != here)
        ids = shortened(ids, taken * ID_OCTETS);
    if (!data || !ids) {
        Py_XDECREF(data);
        Py_XDECREF(ids);
        return NULL;
    }
    id = (uint8_t *)PyBytes_AsString(ids);
    unsigned long long first = taken ? u64(id) : 0, last = taken ? u64(id + (taken - 1) * ID_OCTETS) : 0;
    return Py_BuildValue("(NKKNKKKy#)", data, (unsigned long long)taken, (unsigned long long)messages, ids, first, last,
                         (unsigned long long)copied, bloom ? (const char *)bloom->bits : "",
                         (Py_ssize_t)(bloom && bloom->has_values ? bloom->octets : 0));
}

static bool fits(bool right, const char *signature)
{
    if (!right && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, signature);
    return right && !PyErr_Occurred();
}

static PyObject *scan_buffer(PyObject *buffer, Py_ssize_t at, Py_ssize_t stop, Bloom *bloom)
{
    Py_buffer view;
    if (PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE))
        return NULL;
    PyObject *found = NULL;
    if (stop > view.len)
        PyErr_SetString(PyExc_ValueError, "stop is behind the end");
    else if (at > stop) {
        found = Py_None;
        Py_INCREF(found);
    } else if (bloom)
        found = scan_octets(view.buf, (size_t)at, (size_t)stop, bloom);
    else
        found = scan_octets(view.buf, (size_t)at, (size_t)stop, NULL);
    PyBuffer_Release(&view);
    return found;
}

static PyObject *scan(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given)
{
    Py_ssize_t at = given == 3 ? PyLong_AsSsize_t(args[1]) : -1;
    Py_ssize_t stop = at >= 0 ? PyLong_AsSsize_t(args[2]) : -1;
    if (!fits(at >= 0 && stop >= 0, "scan(buffer, at, stop), numbers not negative"))
        return NULL;
    return scan_buffer(args[0], at, stop, NULL);
}

static PyObject *scan_filtered(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given)
{
    Py_ssize_t at = given == 4 ? PyLong_AsSsize_t(args[1]) : -1;
    Py_ssize_t stop = at >= 0 ? PyLong_AsSsize_t(args[2]) : -1;
    Py_ssize_t octets = stop >= 0 ? PyLong_AsSsize_t(args[3]) : -1;
    if (!fits(octets >= 1 && octets <= BLOOM_OCTETS_MAX,
              "scan_filtered(buffer, at, stop, bloom_octets), numbers not negative, the last one 1 to 255"))
        return NULL;
    Bloom bloom = {.octets = (unsigned)octets};
    return scan_buffer(args[0], at, stop, &bloom);
}

/* -- cut ---------------------------------------------------------------------------------------------------------- */

static PyObject *cut(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given)
{
    Py_ssize_t at = given == 4 ? PyLong_AsSsize_t(args[1]) : -1;
    Py_ssize_t entries_max = at >= 0 ? PyLong_AsSsize_t(args[2]) : -1;
    Py_ssize_t octets_max = entries_max >= 0 ? PyLong_AsSsize_t(args[3]) : -1;
    if (!fits(octets_max >= 0, "cut(data, at, entries_max, octets_max), numbers not negative"))
        return NULL;
    Py_buffer view;
    if (PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE))
        return NULL;
    const uint8_t *start = view.buf;
    size_t end = (size_t)view.len, here = (size_t)at;
    uint64_t entries = 0, messages = 0;
    bool sound = true;
    while (here < end && (!entries || entries < (uint64_t)entries_max)) {
        uint64_t more = 0;
        size_t octets = entry_octets(start + here, end - here, &more);
        if (!octets) {
            PyErr_Format(PyExc_ValueError, "malformed entry at octet %zu", here);
            sound = false;
            break;
        }
        if (entries && here + octets - (size_t)at > (size_t)octets_max)
            break;
        here += octets;
        entries++;
        messages += more;
    }
    PyBuffer_Release(&view);
    return !sound ? NULL
                  : Py_BuildValue("(KKK)", (unsigned long long)here, (unsigned long long)entries,
                                  (unsigned long long)messages);
}

/* -- split -------------------------------------------------------------------------------------------------------- */

static PyObject *split_octets(const uint8_t *start, size_t at, size_t end)
{
    PyObject *messages = PyList_New(0);
    size_t here = at;
    while (messages && here < end) {
        size_t there = end - here, length = there < LENGTH_OCTETS ? SIZE_MAX : u32(start + here);
        if (there >= LENGTH_OCTETS && length >= BATCH_BIT)
            break;
        if (there < LENGTH_OCTETS || length > there - LENGTH_OCTETS) {
            PyErr_Format(PyExc_ValueError, "malformed entry at octet %zu", here);
            Py_CLEAR(messages);
            break;
        }
        PyObject *message =
            PyBytes_FromStringAndSize((const char *)start + here + LENGTH_OCTETS, (Py_ssize_t)length);
        if (!message || PyList_Append(messages, message))
            Py_CLEAR(messages);
        Py_XDECREF(message);
        here += LENGTH_OCTETS + length;
    }
    return messages ? Py_BuildValue("(NK)", messages, (unsigned long long)here) : NULL;
}

static PyObject *split(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given)
{
    Py_ssize_t at = given == 2 ? PyLong_AsSsize_t(args[1]) : -1;
    if (!fits(at >= 0, "split(data, at), at not negative"))
        return NULL;
    Py_buffer view;
    if (PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE))
        return NULL;
    PyObject *found = split_octets(view.buf, (size_t)at, (size_t)view.len);
    PyBuffer_Release(&view);
    return found;
}

/* -- module ------------------------------------------------------------------------------------------------------- */

static int execute(PyObject *module) { return PyModule_AddIntConstant(module, "SEAM", SEAM); }

#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL
static PyMethodDef methods[] = {
    {"scan", FAST(scan), "scan(buffer, at, stop): see entries.pure_scan."},
    {"scan_filtered", FAST(scan_filtered), "scan_filtered(buffer, at, stop, bloom_octets): see entries.pure_scan_filtered."},
    {"cut", FAST(cut), "cut(data, at, entries_max, octets_max): see entries.pure_cut."},
    {"split", FAST(split), "split(data, at): see entries.pure_split."},
    {NULL, NULL, 0, NULL},
};
static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)execute}, {0, NULL}};
static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "pybroker.wire.stream._entries",
    .m_doc = "Entries of the stream protocol in C; entries.py is its reference.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__entries(void) { return PyModuleDef_Init(&definition); }
