/* Messages of AMQP 1.0 as contents in C, and back: what to_content.py and to_message.py make of the most common ones.
   They are the reference.

   Whatever is out of the ordinary is left to Python: what is decided here is only that nothing is. So are all faults.
   Each length is compared with what is there before it is used: octets come from a peer. The twins are compared in
   tests/wire/amqp10/test_contents_twin.py, which says how to run this under sanitizers. */

#ifndef PYBROKER_FULL_API
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* to_content.py does not use a module of another number: raise both when signatures or meanings change. */
#define SEAM 2

enum { PROPERTIES = 0x73, APPLICATION_PROPERTIES = 0x74, DATA = 0x75 };
enum { NONE = 0x40, BINARY_8 = 0xA0, TEXT_8 = 0xA1, SYMBOL_8 = 0xA3, BINARY_32 = 0xB0, TEXT_32 = 0xB1, SYMBOL_32 = 0xB3 };
enum { LIST_0 = 0x45, LIST_8 = 0xC0, MAP_8 = 0xC1, LIST_32 = 0xD0, MAP_32 = 0xD1, TIMESTAMP = 0x83 };
#define SHORTSTR_MAX 255
#define KEY_OCTETS_MAX 128
/* Longer fronts, and more headers, are left to Python. */
#define TABLE_OCTETS_MAX 2048
#define HEADERS_MAX 32
#define CHANNEL 1
#define MS 1000

static inline uint32_t u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint8_t *put_number(uint8_t *at, uint64_t number, int octets)
{
    for (int shift = 8 * (octets - 1); shift >= 0; shift -= 8)
        *at++ = (uint8_t)(number >> shift);
    return at;
}

static uint64_t number_at(const uint8_t *p, size_t octets)
{
    uint64_t number = 0;
    while (octets--)
        number = number << 8 | *p++;
    return number;
}

static bool is_ascii(const uint8_t *p, size_t n)
{
    uint8_t all = 0;
    for (size_t i = 0; i < n; i++)
        all |= p[i];
    return all < 0x80;
}

/* A value's code, and its octets without their length. */
typedef struct {
    const uint8_t *p;
    size_t n;
    uint8_t code;
} Value;

/* Octets of a value by its code, plus one; 0 is none that is known here. Widths of lengths are above that. */
enum { LENGTH_1 = 100, LENGTH_4 };
static const uint8_t sizes[256] = {
    [0x40] = 1,        [0x41] = 1,        [0x42] = 1,        [0x43] = 1,        [0x44] = 1,        [0x45] = 1,
    [0x50] = 2,        [0x51] = 2,        [0x52] = 2,        [0x53] = 2,        [0x54] = 2,        [0x55] = 2,
    [0x56] = 2,        [0x60] = 3,        [0x61] = 3,        [0x70] = 5,        [0x71] = 5,        [0x72] = 5,
    [0x73] = 5,        [0x80] = 9,        [0x81] = 9,        [0x82] = 9,        [0x83] = 9,        [0x98] = 17,
    [0xA0] = LENGTH_1, [0xA1] = LENGTH_1, [0xA3] = LENGTH_1, [0xB0] = LENGTH_4, [0xB1] = LENGTH_4, [0xB3] = LENGTH_4,
    [0xC0] = LENGTH_1, [0xC1] = LENGTH_1, [0xD0] = LENGTH_4, [0xD1] = LENGTH_4,
};

/* Read the value at `p`; return where it ends, NULL where Python is to look. */
static const uint8_t *read_value(const uint8_t *p, const uint8_t *end, Value *value)
{
    if (p >= end)
        return NULL;
    size_t size = sizes[*p];
    value->code = *p++;
    if (!size--)
        return NULL;
    if (size == LENGTH_1 - 1) {
        if (p >= end)
            return NULL;
        size = *p++;
    } else if (size == LENGTH_4 - 1) {
        if (end - p < 4)
            return NULL;
        size = u32(p);
        p += 4;
    }
    if ((size_t)(end - p) < size)
        return NULL;
    value->p = p;
    value->n = size;
    return p + size;
}

static inline bool is_text(const Value *value)
{
    return value->code == TEXT_8 || value->code == SYMBOL_8 || value->code == TEXT_32 || value->code == SYMBOL_32;
}

/* What the sections in front of a body say. Values without a place in the message have the code NONE. */
typedef struct {
    Value message_id, user_id, reply_to, correlation_id, content_type, content_encoding, creation_time;
    uint8_t table[TABLE_OCTETS_MAX];
    size_t table_octets;
} Front;

/* Take the values of a list, or of a map, without their number; return false where Python is to look. */
static bool begin_items(const Value *compound, bool map, const uint8_t **p, const uint8_t **end)
{
    size_t number_octets = compound->code == (map ? MAP_8 : LIST_8) ? 1 : 4;
    if (number_octets == 4 && compound->code != (map ? MAP_32 : LIST_32))
        return false;
    if (compound->n < number_octets)
        return false;
    *p = compound->p + number_octets;
    *end = compound->p + compound->n;
    return true;
}

static bool read_properties(const Value *list, Front *front)
{
    const uint8_t *p, *end;
    Value *places[] = {&front->message_id,   &front->user_id,          NULL, NULL, &front->reply_to, &front->correlation_id,
                       &front->content_type, &front->content_encoding, NULL, &front->creation_time};
    if (list->code == LIST_0)
        return true;
    if (!begin_items(list, false, &p, &end))
        return false;
    for (size_t i = 0; p < end; i++) {
        Value value;
        p = read_value(p, end, &value);
        if (!p)
            return false;
        if (value.code == NONE || i >= sizeof places / sizeof *places || !places[i])
            continue;
        bool fits = i == 9   ? value.code == TIMESTAMP
                    : i == 1 ? (value.code == BINARY_8 || is_text(&value)) && is_ascii(value.p, value.n)
                             : is_text(&value);
        if (!fits || value.n > SHORTSTR_MAX)
            return false;
        if (i != 9 || !(value.p[0] & 0x80))
            *places[i] = value;
    }
    return true;
}

/* Write a value as one of a field table; return how many octets that is, 0 where Python is to look. */
static size_t put_field(uint8_t *to, const Value *value)
{
    static const uint8_t letters[256] = {
        [0x50] = 'B', [0x51] = 'b', [0x56] = 't', [0x60] = 'u', [0x61] = 's', [0x70] = 'i', [0x71] = 'I',
        [0x72] = 'f', [0x81] = 'l', [0x82] = 'd', [0xA0] = 'x', [0xA1] = 'S', [0xA3] = 'S', [0xB0] = 'x',
        [0xB1] = 'S', [0xB3] = 'S', [0x52] = 'i', [0x53] = 'l', [0x54] = 'I', [0x55] = 'l', [0x43] = 'i',
        [0x44] = 'l', [0x40] = 'V', [0x41] = 't', [0x42] = 't', [0x80] = 'l', [0x83] = 'T',
    };
    uint8_t *at = to;
    if (!letters[value->code])
        return 0;
    *at++ = letters[value->code];
    switch (value->code) {
    case 0x40: /* null */
        break;
    case 0x41:
    case 0x42: /* true, false */
        *at++ = value->code == 0x41;
        break;
    case 0x43:
    case 0x52: /* integers in no octet, or in one */
        at = put_number(at, number_at(value->p, value->n), 4);
        break;
    case 0x44:
    case 0x53:
        at = put_number(at, number_at(value->p, value->n), 8);
        break;
    case 0x54:
        at = put_number(at, (uint64_t)(int64_t)(int8_t)value->p[0], 4);
        break;
    case 0x55:
        at = put_number(at, (uint64_t)(int64_t)(int8_t)value->p[0], 8);
        break;
    case 0x80: /* unsigned long, timestamp */
    case 0x83:
        if (value->p[0] & 0x80)
            return 0;
        at = put_number(at, number_at(value->p, 8) / (value->code == 0x83 ? MS : 1), 8);
        break;
    default:
        if (value->code >= BINARY_8)
            at = put_number(at, value->n, 4);
        memcpy(at, value->p, value->n);
        at += value->n;
    }
    return (size_t)(at - to);
}

static bool read_headers(const Value *map, Front *front)
{
    const uint8_t *p, *end;
    Value keys[HEADERS_MAX];
    size_t count = 0;
    uint8_t *at = front->table, *stop = front->table + TABLE_OCTETS_MAX;
    if (!begin_items(map, true, &p, &end))
        return false;
    while (p < end) {
        Value key, value;
        if (!(p = read_value(p, end, &key)) || !(p = read_value(p, end, &value)))
            return false;
        /* Names that begin so are properties of AMQP 0-9-1. */
        if (!is_text(&key) || key.n > KEY_OCTETS_MAX || !is_ascii(key.p, key.n) || count == HEADERS_MAX ||
            (key.n >= 8 && !memcmp(key.p, "x-basic-", 8)))
            return false;
        for (size_t i = 0; i < count; i++)
            if (keys[i].n == key.n && !memcmp(keys[i].p, key.p, key.n))
                return false;
        keys[count++] = key;
        /* Key and value with their lengths and the type: no number has more octets than 8. */
        if ((size_t)(stop - at) < 1 + key.n + 1 + 8 + value.n)
            return false;
        *at++ = (uint8_t)key.n;
        memcpy(at, key.p, key.n);
        at += key.n;
        size_t octets = put_field(at, &value);
        if (!octets)
            return false;
        at += octets;
    }
    front->table_octets = (size_t)(at - front->table);
    return true;
}

/* Read the sections of a message; return false where Python is to look. */
static bool read_message(const uint8_t *p, const uint8_t *end, Front *front, Value *body)
{
    int before = 0;
    while (end - p > 3 && p[0] == 0 && p[1] == 0x53) {
        int kind = p[2];
        Value value;
        p = read_value(p + 3, end, &value);
        if (!p || kind <= before)
            return false;
        before = kind;
        if (kind == DATA) {
            *body = value;
            return p == end && (value.code == BINARY_8 || value.code == BINARY_32);
        }
        if (kind == PROPERTIES ? !read_properties(&value, front)
                               : kind != APPLICATION_PROPERTIES || !read_headers(&value, front))
            return false;
    }
    return false;
}

static uint8_t *put_short(uint8_t *at, const Value *value)
{
    *at++ = (uint8_t)value->n;
    memcpy(at, value->p, value->n);
    return at + value->n;
}

/* Write flags and values; return the end. There are at most as many octets as PROPERTIES_MAX says. */
#define PROPERTIES_MAX (2 + 6 * (1 + SHORTSTR_MAX) + 8 + 4 + TABLE_OCTETS_MAX)
static uint8_t *put_properties(uint8_t *to, const Front *front)
{
    unsigned flags = 0;
    uint8_t *at = to + 2;
    const struct {
        const Value *value;
        unsigned flag;
    } early[] = {{&front->content_type, 1u << 15}, {&front->content_encoding, 1u << 14}},
      late[] = {{&front->correlation_id, 1u << 10}, {&front->reply_to, 1u << 9}, {&front->message_id, 1u << 7}};
    for (size_t i = 0; i < 2; i++)
        if (early[i].value->code != NONE) {
            flags |= early[i].flag;
            at = put_short(at, early[i].value);
        }
    if (front->table_octets) {
        flags |= 1u << 13;
        at = put_number(at, front->table_octets, 4);
        memcpy(at, front->table, front->table_octets);
        at += front->table_octets;
    }
    for (size_t i = 0; i < 3; i++)
        if (late[i].value->code != NONE) {
            flags |= late[i].flag;
            at = put_short(at, late[i].value);
        }
    if (front->creation_time.code != NONE) {
        flags |= 1u << 6;
        at = put_number(at, number_at(front->creation_time.p, 8) / MS, 8);
    }
    if (front->user_id.code != NONE) {
        flags |= 1u << 4;
        at = put_short(at, &front->user_id);
    }
    put_number(to, flags, 2);
    return at;
}

/* content(message) */
static PyObject *content(PyObject *Py_UNUSED(module), PyObject *message)
{
    char *octets;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(message, &octets, &length))
        return NULL;
    static const Value none = {.code = NONE};
    Front front = {.message_id = none, .user_id = none, .reply_to = none, .correlation_id = none, .content_type = none,
                   .content_encoding = none, .creation_time = none};
    front.table_octets = 0;
    Value body = none;
    const uint8_t *start = (const uint8_t *)octets;
    if (!read_message(start, start + length, &front, &body))
        Py_RETURN_NONE;
    uint8_t properties[PROPERTIES_MAX];
    size_t props = (size_t)(put_properties(properties, &front) - properties);
    PyObject *made = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(19 + props + 1 + (body.n ? 8 + body.n : 0)));
    if (!made)
        return NULL;
    uint8_t *at = (uint8_t *)PyBytes_AsString(made);
    *at++ = 2;
    at = put_number(at, CHANNEL, 2);
    at = put_number(at, 12 + props, 4);
    at = put_number(at, 60u << 16, 4);
    at = put_number(at, body.n, 8);
    memcpy(at, properties, props);
    at += props;
    *at++ = 0xCE;
    if (body.n) {
        *at++ = 3;
        at = put_number(at, CHANNEL, 2);
        at = put_number(at, body.n, 4);
        memcpy(at, body.p, body.n);
        at[body.n] = 0xCE;
    }
    return Py_BuildValue("(NK)", made, (unsigned long long)body.n);
}

/* -- back --------------------------------------------------------------------------------------------------------- */

/* Longer property octets are left to Python; what they become is not twice as long. */
#define PROPS_OCTETS_MAX 2048
#define NAMES_OCTETS_MAX 1100
#define FRONT_OCTETS_MAX 8192
enum { SMALL_INT = 0x54, SMALL_LONG = 0x55, INT = 0x71, LONG = 0x81, BINARY = 0xA0, TEXT = 0xA1, SYMBOL = 0xA3 };

/* Where octets are written; more than there is room for are none. */
typedef struct {
    uint8_t *at, *stop;
    bool full;
} Writer;

static void put(Writer *to, const void *octets, size_t n)
{
    if ((size_t)(to->stop - to->at) < n) {
        to->full = true;
        return;
    }
    memcpy(to->at, octets, n);
    to->at += n;
}

static void put_octet(Writer *to, unsigned octet)
{
    uint8_t octets[] = {(uint8_t)octet};
    put(to, octets, 1);
}

static void put_big(Writer *to, uint64_t number, int n)
{
    uint8_t octets[8];
    put_number(octets, number, n);
    put(to, octets, (size_t)n);
}

/* A string of a kind whose long form has the code 16 above the short one's; symbols are short. */
static void put_string(Writer *to, unsigned code, const uint8_t *p, size_t n)
{
    if (n < 255 || code == SYMBOL) {
        put_octet(to, code);
        put_octet(to, (unsigned)n);
    } else {
        put_octet(to, code + 0x10);
        put_big(to, n, 4);
    }
    put(to, p, n);
}

static void put_text(Writer *to, unsigned code, const char *text)
{
    put_string(to, code, (const uint8_t *)text, strlen(text));
}

/* A section that is a list or a map: its codes are those of the short form, and 16 above it. */
static void put_section(Writer *to, unsigned kind, unsigned code, const uint8_t *octets, size_t n, unsigned count)
{
    const uint8_t head[] = {0, 0x53, (uint8_t)kind};
    put(to, head, 3);
    if (n <= 254 && count < 255) {
        put_octet(to, code);
        put_octet(to, (unsigned)n + 1);
        put_octet(to, count);
    } else {
        put_octet(to, code + 0x10);
        put_big(to, n + 4, 4);
        put_big(to, count, 4);
    }
    put(to, octets, n);
}

/* Octets that are read; `bad` where there are too few. */
typedef struct {
    const uint8_t *p, *end;
    bool bad;
} Reader;

static const uint8_t *take(Reader *from, size_t n)
{
    static const uint8_t nothing[8];
    if ((size_t)(from->end - from->p) < n) {
        from->bad = true;
        return n <= sizeof nothing ? nothing : NULL;
    }
    from->p += n;
    return from->p - n;
}

static Value take_string(Reader *from, size_t length_octets)
{
    Value value = {.code = TEXT};
    value.n = (size_t)number_at(take(from, length_octets), length_octets);
    value.p = take(from, value.n);
    return value;
}

/* Write a value of a field table; return 1, 0 if it is left out, -1 where Python is to look. */
static int put_value(Writer *to, Reader *from)
{
    static const struct {
        uint8_t code, octets;
    } same[256] = {
        ['B'] = {0x50, 1}, ['b'] = {0x51, 1}, ['u'] = {0x60, 2}, ['s'] = {0x61, 2}, ['f'] = {0x72, 4}, ['d'] = {0x82, 8},
    };
    uint8_t letter = *take(from, 1);
    if (same[letter].code) {
        put_octet(to, same[letter].code);
        put(to, take(from, same[letter].octets), same[letter].octets);
        return 1;
    }
    switch (letter) {
    case 't':
        put_octet(to, 0x56);
        put_octet(to, *take(from, 1) != 0);
        return 1;
    case 'I':
    case 'l':
    case 'L': {
        int octets = letter == 'I' ? 4 : 8;
        uint64_t number = number_at(take(from, (size_t)octets), (size_t)octets);
        int64_t value = octets == 4 ? (int64_t)(int32_t)(uint32_t)number : (int64_t)number;
        bool small = value >= -128 && value <= 127;
        put_octet(to, octets == 4 ? (small ? SMALL_INT : INT) : small ? SMALL_LONG : LONG);
        put_big(to, number, small ? 1 : octets);
        return 1;
    }
    case 'i': {
        uint64_t number = number_at(take(from, 4), 4);
        put_octet(to, !number ? 0x43 : number <= 255 ? 0x52 : 0x70);
        put_big(to, number, !number ? 0 : number <= 255 ? 1 : 4);
        return 1;
    }
    case 'T': {
        uint64_t seconds = number_at(take(from, 8), 8);
        if (seconds > INT64_MAX / MS)
            return 0;
        put_octet(to, TIMESTAMP);
        put_big(to, seconds * MS, 8);
        return 1;
    }
    case 'V':
        put_octet(to, NONE);
        return 1;
    case 'S':
    case 'x': {
        Value value = take_string(from, 4);
        if (from->bad || (letter == 'S' && !is_ascii(value.p, value.n)))
            return -1;
        put_string(to, letter == 'S' ? TEXT : BINARY, value.p, value.n);
        return 1;
    }
    case 'F':
    case 'A':
        take_string(from, 4);
        return 0;
    }
    return -1;
}

/* Write the entries of a headers table, and count keys and values; return false where Python is to look. */
static bool put_headers(Writer *to, const Value *table, unsigned *count)
{
    Reader from = {table->p, table->p + table->n, false};
    while (from.p < from.end) {
        Value key = take_string(&from, 1);
        if (from.bad)
            return false;
        uint8_t *before = to->at;
        put_string(to, TEXT, key.p, key.n);
        int found = put_value(to, &from);
        if (found < 0 || from.bad || to->full)
            return false;
        if (found)
            *count += 2;
        else
            to->at = before;
    }
    return true;
}

/* Write the sections in front of a body; return false where Python is to look. */
static bool put_front(Writer *to, const uint8_t *props, size_t n, const uint8_t *names, size_t names_octets)
{
    Reader from = {props, props + n, false};
    unsigned flags = (unsigned)number_at(take(&from, 2), 2);
    Value text[16] = {{0}}, table = {0};
    const uint8_t *mode = NULL, *priority = NULL, *seconds = NULL;
    if (flags & 3)
        return false;
    for (int bit = 15; bit >= 2; bit--) {
        if (!(flags >> bit & 1))
            continue;
        if (bit == 13)
            table = take_string(&from, 4);
        else if (bit == 12)
            mode = take(&from, 1);
        else if (bit == 11)
            priority = take(&from, 1);
        else if (bit == 6)
            seconds = take(&from, 8);
        else
            text[bit] = take_string(&from, 1);
        if (from.bad)
            return false;
    }
    if (from.p != from.end || (text[5].code && text[5].n == 8 && !memcmp(text[5].p, "amqp-1.0", 8)))
        return false;

    uint8_t octets[FRONT_OCTETS_MAX / 2];
    Writer some = {octets, octets + sizeof octets, false};
    unsigned count = 4;
    put(&some, names, names_octets);
    if (priority) {
        put_text(&some, SYMBOL, "x-basic-priority");
        put_octet(&some, 0x50);
        put(&some, priority, 1);
        count += 2;
    }
    if (mode) {
        put_text(&some, SYMBOL, "x-basic-delivery-mode");
        put_octet(&some, 0x50);
        put(&some, mode, 1);
        count += 2;
    }
    if (text[8].code) {
        put_text(&some, SYMBOL, "x-basic-expiration");
        put_string(&some, TEXT, text[8].p, text[8].n);
        count += 2;
    }
    put_section(to, 0x72, MAP_8, octets, (size_t)(some.at - octets), count);

    static const struct {
        uint8_t bit, code;
    } places[13] = {{7, TEXT}, {4, BINARY}, {0, 0}, {0, 0}, {9, TEXT}, {10, TEXT}, {15, SYMBOL}, {14, SYMBOL}};
    bool any = false;
    some.at = octets;
    for (int i = 0; i < 13; i++) {
        const Value *value = &text[places[i].bit];
        if (i == 9 && seconds && number_at(seconds, 8) <= INT64_MAX / MS) {
            put_octet(&some, TIMESTAMP);
            put_big(&some, number_at(seconds, 8) * MS, 8);
            any = true;
        } else if (places[i].bit && value->code) {
            put_string(&some, places[i].code, value->p, value->n);
            any = true;
        } else
            put_octet(&some, NONE);
    }
    if (any)
        put_section(to, PROPERTIES, LIST_8, octets, (size_t)(some.at - octets), 13);

    count = 0;
    some.at = octets;
    if (text[5].code) {
        put_text(&some, TEXT, "x-basic-type");
        put_string(&some, TEXT, text[5].p, text[5].n);
        count += 2;
    }
    if (text[3].code) {
        put_text(&some, TEXT, "x-basic-app-id");
        put_string(&some, TEXT, text[3].p, text[3].n);
        count += 2;
    }
    if (table.code && !put_headers(&some, &table, &count))
        return false;
    if (count)
        put_section(to, APPLICATION_PROPERTIES, MAP_8, octets, (size_t)(some.at - octets), count);
    return !some.full && !to->full;
}

/* entry(properties, body, names) */
static PyObject *entry(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given)
{
    char *props, *body, *names;
    Py_ssize_t props_octets, body_octets, names_octets;
    if (given != 3 || PyBytes_AsStringAndSize(args[0], &props, &props_octets) ||
        PyBytes_AsStringAndSize(args[1], &body, &body_octets) || PyBytes_AsStringAndSize(args[2], &names, &names_octets)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "entry(properties, body, names)");
        return NULL;
    }
    uint8_t octets[FRONT_OCTETS_MAX];
    Writer front = {octets, octets + sizeof octets, false};
    if (props_octets > PROPS_OCTETS_MAX || names_octets > NAMES_OCTETS_MAX || body_octets > INT32_MAX / 2 ||
        !put_front(&front, (uint8_t *)props, (size_t)props_octets, (uint8_t *)names, (size_t)names_octets))
        Py_RETURN_NONE;
    const uint8_t head[] = {0, 0x53, DATA};
    put(&front, head, 3);
    put_octet(&front, body_octets < 255 ? BINARY_8 : BINARY_32);
    put_big(&front, (uint64_t)body_octets, body_octets < 255 ? 1 : 4);
    if (front.full)
        Py_RETURN_NONE;
    size_t before = (size_t)(front.at - octets), length = before + (size_t)body_octets;
    PyObject *made = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(4 + length));
    if (!made)
        return NULL;
    uint8_t *at = put_number((uint8_t *)PyBytes_AsString(made), length, 4);
    memcpy(at, octets, before);
    memcpy(at + before, body, (size_t)body_octets);
    return made;
}

/* -- module ------------------------------------------------------------------------------------------------------- */

static int execute(PyObject *module) { return PyModule_AddIntConstant(module, "SEAM", SEAM); }

static PyMethodDef methods[] = {
    {"content", content, METH_O, "content(message): the content and the size of its body, None for Python to look."},
    {"entry", (PyCFunction)(void (*)(void))entry, METH_FASTCALL,
     "entry(properties, body, names): the message with its length in front, None for Python to look."},
    {NULL, NULL, 0, NULL},
};
static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)execute}, {0, NULL}};
static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "pybroker.wire.amqp10._contents",
    .m_doc = "Common messages of AMQP 1.0 as contents in C; to_content.py is its reference.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__contents(void) { return PyModuleDef_Init(&definition); }
