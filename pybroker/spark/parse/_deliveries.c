/* Deliveries of one consumer, many at once: octets of frames -> the buffers of Arrow's columns.

   A twin of Deliveries._take_whole in deliveries.py, which is the reference and reads what this leaves: it stops in
   front of everything that is not a whole message of a basic.deliver, a header and one body frame, or none. Each length
   is compared with what is there before it is used: octets come from a peer. tests/spark/parse/test_frame_batch_parser.py
   compares the twins, and says how to run this under sanitizers. */

#ifndef PYBROKER_FULL_API
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* frame_batch_parser.py does not use a module of another number: raise both when the signature or a meaning changes. */
#define SEAM 1

enum { METHOD = 1, HEADER = 2, BODY = 3, FRAME_END = 0xCE };
#define BASIC (60u << 16)
#define HEADER_OCTETS_MIN 14
#define ROUTE_OCTETS_MIN 3
#define ROUTE_OCTETS_MAX 513

typedef struct {
    const uint8_t *data, *prefix; /* all octets; those of a basic.deliver in front of the delivery tag */
    size_t end, prefix_octets, octets_max;
    unsigned channel;
} Input;

typedef struct {
    const uint8_t *octets;
    size_t size;
} Piece;

typedef struct {
    Piece route, properties, body;
    uint64_t tag;
} Message;

static inline unsigned u16(const uint8_t *p) { return (unsigned)p[0] << 8 | p[1]; }
static inline uint32_t u32(const uint8_t *p) { return (uint32_t)u16(p) << 16 | u16(p + 2); }
static inline uint64_t u64(const uint8_t *p) { return (uint64_t)u32(p) << 32 | u32(p + 4); }

/* Find the payload of a frame; return where the next one begins, 0 if it is another kind or has not come whole. */
static size_t next_frame(const Input *in, size_t at, unsigned kind, Piece *payload)
{
    if (in->end - at < 8 || in->data[at] != kind || u16(in->data + at + 1) != in->channel)
        return 0;
    size_t size = u32(in->data + at + 3);
    if (size > in->octets_max || size > in->end - at - 8 || in->data[at + 7 + size] != FRAME_END)
        return 0;
    *payload = (Piece){in->data + at + 7, size};
    return at + 8 + size;
}

/* Read a message; return where the next one begins, 0 if there is none to be read here. */
static size_t next_message(const Input *in, size_t at, Message *message)
{
    Piece method, header;
    size_t fixed = in->prefix_octets + 8;
    if (!(at = next_frame(in, at, METHOD, &method)) || method.size < fixed + ROUTE_OCTETS_MIN ||
        method.size > fixed + ROUTE_OCTETS_MAX || memcmp(method.octets, in->prefix, in->prefix_octets))
        return 0;
    message->tag = u64(method.octets + in->prefix_octets);
    message->route = (Piece){method.octets + fixed, method.size - fixed};
    if (!(at = next_frame(in, at, HEADER, &header)) || header.size < HEADER_OCTETS_MIN || u32(header.octets) != BASIC)
        return 0;
    message->properties = (Piece){header.octets + 12, header.size - 12};
    message->body = (Piece){header.octets, 0};
    uint64_t size = u64(header.octets + 4);
    if (!size)
        return at;
    at = next_frame(in, at, BODY, &message->body);
    return message->body.size == size ? at : 0;
}

/* -- columns ------------------------------------------------------------------------------------------------------ */

/* Variable-length octets as Arrow has them: where each row ends, after a zero, and the octets themselves. */
typedef struct {
    PyObject *ends, *octets;
    char *end_at, *octet_at;
    int32_t size;
} Column;

static bool begin(Column *column, Py_ssize_t rows, size_t octets)
{
    *column = (Column){PyBytes_FromStringAndSize(NULL, 4 * (rows + 1)),
                       PyBytes_FromStringAndSize(NULL, (Py_ssize_t)octets), NULL, NULL, 0};
    if (!column->ends || !column->octets)
        return false;
    column->end_at = PyBytes_AsString(column->ends);
    column->octet_at = PyBytes_AsString(column->octets);
    memset(column->end_at, 0, 4);
    return true;
}

static void append(Column *column, Piece piece)
{
    memcpy(column->octet_at + column->size, piece.octets, piece.size);
    column->size += (int32_t)piece.size;
    memcpy(column->end_at += 4, &column->size, 4);
}

/* Return the number of a route, a new one for one that was not there yet; -1 for an error. */
static long number_of(PyObject *routes, Piece route)
{
    PyObject *octets = PyBytes_FromStringAndSize((const char *)route.octets, (Py_ssize_t)route.size);
    PyObject *known = octets ? PyDict_GetItemWithError(routes, octets) : NULL;
    long number = -1;
    if (known) {
        number = PyLong_AsLong(known);
    } else if (octets && !PyErr_Occurred()) {
        PyObject *next = PyLong_FromSsize_t(PyDict_Size(routes));
        if (next && !PyDict_SetItem(routes, octets, next))
            number = PyLong_AsLong(next);
        Py_XDECREF(next);
    }
    Py_XDECREF(octets);
    return number;
}

/* Fill the columns with so many messages; return false for an error. */
static bool fill(const Input *in, size_t at, Py_ssize_t rows, Column *value, Column *properties, char *numbers,
                 PyObject *routes)
{
    Message message;
    Piece last = {NULL, 0};
    int32_t number = 0;
    for (Py_ssize_t row = 0; row < rows; row++) {
        at = next_message(in, at, &message);
        append(value, message.body);
        append(properties, message.properties);
        if (message.route.size != last.size || memcmp(message.route.octets, last.octets, last.size)) {
            number = (int32_t)number_of(routes, message.route);
            if (number < 0)
                return false;
            last = message.route;
        }
        memcpy(numbers + 4 * row, &number, 4);
    }
    return true;
}

static PyObject *columns(const Input *in, size_t at, Py_ssize_t rows, size_t value_octets, size_t property_octets,
                         size_t end, uint64_t tag)
{
    Column value = {0}, properties = {0};
    PyObject *numbers = PyBytes_FromStringAndSize(NULL, 4 * rows), *routes = PyDict_New(), *found = NULL;
    if (numbers && routes && begin(&value, rows, value_octets) && begin(&properties, rows, property_octets) &&
        fill(in, at, rows, &value, &properties, PyBytes_AsString(numbers), routes))
        found = Py_BuildValue("(nnKOOOOOO)", rows, (Py_ssize_t)end, (unsigned long long)tag, value.ends, value.octets,
                              properties.ends, properties.octets, numbers, routes);
    PyObject *all[] = {value.ends, value.octets, properties.ends, properties.octets, numbers, routes};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        Py_XDECREF(all[i]);
    return found;
}

static PyObject *cut(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *data, *prefix;
    Py_ssize_t octets, prefix_octets, at, octets_max, rows = 0;
    int channel;
    if (!PyArg_ParseTuple(args, "y#nny#i", &data, &octets, &at, &octets_max, &prefix, &prefix_octets, &channel))
        return NULL;
    if (at < 0 || at > octets || octets_max < 0 || octets > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "cut: a position within the octets, of which there are less than 2^31");
        return NULL;
    }
    Input in = {(const uint8_t *)data,       (const uint8_t *)prefix, (size_t)octets, (size_t)prefix_octets,
                octets_max ? (size_t)octets_max : SIZE_MAX, (unsigned)channel};
    size_t end = (size_t)at, next, value_octets = 0, property_octets = 0;
    uint64_t tag = 0;
    Message message;
    while ((next = next_message(&in, end, &message))) {
        end = next;
        tag = message.tag;
        value_octets += message.body.size;
        property_octets += message.properties.size;
        rows++;
    }
    if (!rows)
        Py_RETURN_NONE;
    return columns(&in, (size_t)at, rows, value_octets, property_octets, end, tag);
}

/* -- module ------------------------------------------------------------------------------------------------------- */

static int execute(PyObject *module) { return PyModule_AddIntConstant(module, "SEAM", SEAM); }

static PyMethodDef methods[] = {
    {"cut", cut, METH_VARARGS, "cut(data, at, frame_octets_max, prefix, channel): see _deliveries.pyi."},
    {NULL, NULL, 0, NULL},
};
static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)execute}, {0, NULL}};
static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "pybroker.spark.parse._deliveries",
    .m_doc = "Deliveries as columns, in C; deliveries.py is its reference.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__deliveries(void) { return PyModuleDef_Init(&definition); }
