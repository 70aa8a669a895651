/*
 * streamload - a small load generator for the stream protocol of RabbitMQ.
 *
 * One thread drives every connection through epoll. It creates streams, publishes with confirms, subscribes, and checks
 * what it gets: each publishing id is confirmed once, chunks follow one another, and with --verify their CRC and the
 * sequence of each publisher's bodies. Every wait is bounded. Prints one JSON line; what was wrong stands in "error".
 *
 * Build:  gcc -O2 -Wall -o streamload streamload.c
 *
 * A body begins with its publisher's number (2 octets) and sequence (6 octets); with --rate, if it has the room, the
 * time at which it was sent (8 octets) follows. It is sent as it is; with --amqp as the data of an AMQP 1.0 message.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include "load.h"

/* ------------------------------------------------------------------ options */

static struct {
    const char *host, *user, *password, *vhost, *stream, *offset, *named;
    int port, publishers, consumers, per_connection, size, batch, window, seconds, warmup, streams, credit, rate;
    int declare, keep, verify, amqp;
    long messages, fill;
} opt = {
    .host = "127.0.0.1", .user = "guest", .password = "guest", .vhost = "/", .offset = "next",
    .port = 5552, .publishers = 1, .consumers = 0, .per_connection = 1, .size = 100, .batch = 100, .window = 20000,
    .seconds = 8, .warmup = 1, .streams = 1, .credit = 10, .declare = 1,
};

enum { OK = 1 };
enum { FIRST = 1, LAST, NEXT, OFFSET };
enum { DECLARE_PUBLISHER = 1, PUBLISH, PUBLISH_CONFIRM, PUBLISH_ERROR, QUERY_SEQUENCE, DELETE_PUBLISHER, SUBSCRIBE,
       DELIVER, CREDIT, STORE_OFFSET, QUERY_OFFSET, UNSUBSCRIBE, CREATE, DELETE, METADATA, METADATA_UPDATE,
       PEER_PROPERTIES, SASL_HANDSHAKE, SASL_AUTHENTICATE, TUNE, OPEN, CLOSE, HEARTBEAT };

#define REPLY 0x8000
#define WAIT_S 30                      /* for a reply, or for anything to go on */
#define FRAME_OCTETS_MAX (64u << 20)   /* RabbitMQ delivers chunks above what was agreed on */
#define HEAD 48                        /* of a chunk */
#define ALTERNATE 128                  /* added to a subscription's id each second time */

/* --------------------------------------------------------- frames, encoders */

static void put_string(buf_t *b, const char *s)
{
    size_t n = strlen(s);
    put16(b, n); put(b, s, n);
}

static size_t frame_begin(buf_t *b, int key)
{
    size_t at = b->len;
    put32(b, 0); put16(b, key); put16(b, 1);
    return at;
}

static size_t request_begin(buf_t *b, int key)
{
    static uint32_t correlation;
    size_t at = frame_begin(b, key);
    put32(b, ++correlation);
    return at;
}

static void frame_finish(buf_t *b, size_t at)
{
    uint32_t n = htobe32(b->len - at - 4);
    memcpy(b->p + at, &n, 4);
}

/* CRC-32 as Ethernet's, eight octets a step. */
static uint32_t crc_table[8][256];

static void crc_prepare(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ c >> 1 : c >> 1;
        crc_table[0][i] = c;
    }
    for (int i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++)
            crc_table[k][i] = crc_table[k - 1][i] >> 8 ^ crc_table[0][crc_table[k - 1][i] & 255];
}

static uint32_t crc32_of(const uint8_t *p, size_t n)
{
    uint32_t c = ~0u;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t v;
        memcpy(&v, p, 8);
        v = le64toh(v) ^ c;
        c = 0;
        for (int k = 0; k < 8; k++) c ^= crc_table[7 - k][v >> 8 * k & 255];
    }
    while (n--) c = c >> 8 ^ crc_table[0][(c ^ *p++) & 255];
    return ~c;
}

/* -------------------------------------------------------------- connections */

typedef struct {
    int number, id, stream;
    uint64_t low, next;                /* publishing ids: the lowest unconfirmed one, the next to send */
    uint64_t *sent_at;                 /* ring by id, with --rate */
    uint8_t *confirmed;                /* ring by id */
    long sent, acked, errors, due, limit;
} publisher_t;

typedef struct {
    int number, id, stream, began, credit;
    uint64_t next;                     /* offset of the next chunk */
    uint64_t *expected;                /* next sequence of each publisher, with --verify */
    long consumed, octets, chunks, gaps, passes;
} consumer_t;

typedef struct conn {
    int fd, want_out;
    uint32_t frame_max;
    uint8_t *rb;                       /* received: unread octets are [rpos, rlen) */
    size_t rpos, rlen, rcap;
    buf_t out;
    size_t out_off;
    publisher_t *publishers;
    consumer_t *consumers;
    int npublishers, nconsumers, turn;
} conn_t;

typedef struct { int key; uint32_t size; const uint8_t *data; } frame_t;   /* data begins behind the version */

static long crc_errors, sequence_errors, confirm_errors, publish_errors;
static uint8_t pattern[65536 * 16];
static size_t ring, body_at;
static uint8_t data_head[8];                               /* of the AMQP 1.0 section in front of a body */

static ssize_t fill(conn_t *c)                             /* octets read, 0 on EAGAIN */
{
    if (c->rpos == c->rlen) c->rpos = c->rlen = 0;
    if (c->rcap - c->rlen < c->rcap / 4) {
        if (c->rpos > c->rcap / 4) {
            memmove(c->rb, c->rb + c->rpos, c->rlen - c->rpos);
            c->rlen -= c->rpos; c->rpos = 0;
        } else {
            c->rcap *= 2;
            c->rb = realloc(c->rb, c->rcap);
            if (!c->rb) die("out of memory");
        }
    }
    for (;;) {
        ssize_t n = recv(c->fd, c->rb + c->rlen, c->rcap - c->rlen, 0);
        if (n > 0) { c->rlen += n; return n; }
        if (n == 0) die("connection closed by the broker");
        if (errno == EAGAIN) return 0;
        if (errno != EINTR) die("recv: %s", strerror(errno));
    }
}

static int next_frame(conn_t *c, frame_t *f)
{
    size_t left = c->rlen - c->rpos;
    const uint8_t *p = c->rb + c->rpos;
    if (left < 8) return 0;
    f->size = get32(p);
    if (f->size < 4 || f->size > FRAME_OCTETS_MAX) die("bad frame of %u octets", f->size);
    if (left < f->size + 4) return 0;
    f->key = get16(p + 4);
    f->data = p + 8;
    f->size -= 4;
    c->rpos += f->size + 8;
    if (f->key == CLOSE)
        die("broker closed: %d %.*s", get16(f->data + 4), (int)get16(f->data + 6), f->data + 8);
    return 1;
}

static void send_all(conn_t *c)                            /* blocking */
{
    size_t off = 0;
    while (off < c->out.len) {
        ssize_t n = send(c->fd, c->out.p + off, c->out.len - off, MSG_NOSIGNAL);
        if (n < 0) { if (errno == EINTR) continue; die("send: %s", strerror(errno)); }
        off += n;
    }
    c->out.len = 0;
}

static frame_t expect(conn_t *c, int key)                  /* blocking, WAIT_S at most */
{
    uint64_t until = now_ns() + WAIT_S * 1000000000ull;
    frame_t f;
    for (;;) {
        while (!next_frame(c, &f)) {
            if (now_ns() > until) die("no reply %d in %d s", key & ~REPLY, WAIT_S);
            fill(c);
        }
        if (f.key == key) return f;
        if (f.key != HEARTBEAT) die("command %#x instead of %#x", f.key, key);
    }
}

static int code_of(frame_t f) { return get16(f.data + 4); }

static frame_t call(conn_t *c, int key, size_t at)
{
    frame_finish(&c->out, at);
    send_all(c);
    return expect(c, key | REPLY);
}

static frame_t must(conn_t *c, int key, size_t at, const char *what)
{
    frame_t f = call(c, key, at);
    if (code_of(f) != OK) die("%s: code %d", what, code_of(f));
    return f;
}

static void wait_at_most(int fd, int seconds)
{
    struct timeval t = { seconds, 0 };
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

static conn_t *conn_open(void)
{
    conn_t *c = calloc(1, sizeof *c);
    c->rcap = 256 * 1024;
    c->rb = malloc(c->rcap);
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(opt.port) };
    inet_pton(AF_INET, opt.host, &a.sin_addr);
    int one = 1;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    wait_at_most(c->fd, WAIT_S);
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(c->fd, (void *)&a, sizeof a)) die("connect: %s", strerror(errno));

    size_t at = request_begin(&c->out, PEER_PROPERTIES);
    put32(&c->out, 1);
    put_string(&c->out, "product"); put_string(&c->out, program);
    must(c, PEER_PROPERTIES, at, "peer properties");
    must(c, SASL_HANDSHAKE, request_begin(&c->out, SASL_HANDSHAKE), "handshake");
    at = request_begin(&c->out, SASL_AUTHENTICATE);
    put_string(&c->out, "PLAIN");
    size_t user = strlen(opt.user), password = strlen(opt.password);
    put32(&c->out, user + password + 2);
    put(&c->out, "", 1); put(&c->out, opt.user, user);
    put(&c->out, "", 1); put(&c->out, opt.password, password);
    must(c, SASL_AUTHENTICATE, at, "login");
    frame_t f = expect(c, TUNE);
    c->frame_max = get32(f.data);
    at = frame_begin(&c->out, TUNE | REPLY);
    put32(&c->out, c->frame_max); put32(&c->out, 0);       /* no heartbeats */
    frame_finish(&c->out, at);
    at = request_begin(&c->out, OPEN);
    put_string(&c->out, opt.vhost);
    must(c, OPEN, at, "open");
    return c;
}

static const char *stream_name(int i)
{
    static char name[512];
    if (opt.streams == 1) snprintf(name, sizeof name, "%s", opt.stream);
    else snprintf(name, sizeof name, "%s-%d", opt.stream, i);
    return name;
}

static const char *reference_of(publisher_t *p)
{
    static char name[256];
    snprintf(name, sizeof name, "%s-%d", opt.named, p->number);
    return opt.named ? name : "";
}

/* ------------------------------------------------------------------- publish */

static void declare_publisher(conn_t *c, publisher_t *p)
{
    size_t at = request_begin(&c->out, DECLARE_PUBLISHER);
    put8(&c->out, p->id);
    put_string(&c->out, reference_of(p)); put_string(&c->out, stream_name(p->stream));
    must(c, DECLARE_PUBLISHER, at, "declare publisher");
    p->next = 1;
    if (opt.named) {
        at = request_begin(&c->out, QUERY_SEQUENCE);
        put_string(&c->out, reference_of(p)); put_string(&c->out, stream_name(p->stream));
        frame_t f = must(c, QUERY_SEQUENCE, at, "query publisher sequence");
        p->next = get64(f.data + 6) + 1;
    }
    p->low = p->next;
    p->confirmed = calloc(ring, 1);
    if (opt.rate) p->sent_at = calloc(ring, 8);
}

/* How many messages the publisher may send now. */
static long may_send(publisher_t *p)
{
    long n = opt.window - (long)(p->next - p->low);
    if (p->limit && p->limit - p->sent < n) n = p->limit - p->sent;
    else if (opt.rate) return p->due < n ? p->due : n;
    else if (n < opt.batch && p->next > p->low) return 0;  /* whole frames, as long as something is on its way */
    return n;
}

static void put_frame(conn_t *c, publisher_t *p, long n, uint64_t now)
{
    size_t each = 12 + body_at + opt.size, octets = 13 + n * each;
    buf_t *b = &c->out;
    size_t at = frame_begin(b, PUBLISH);
    put8(b, p->id); put32(b, n);
    if (b->len + n * each > b->cap) {
        b->cap = (b->len + octets) * 2;
        b->p = realloc(b->p, b->cap);
        if (!b->p) die("out of memory");
    }
    uint8_t *q = b->p + b->len;
    uint32_t length = htobe32(body_at + opt.size);
    for (long i = 0; i < n; i++, q += each) {
        uint64_t id = p->next++, id_be = htobe64(id);
        uint64_t head[2] = { htobe64((uint64_t)p->number << 48 | (id & 0xffffffffffff)), now };
        memcpy(q, &id_be, 8);
        memcpy(q + 8, &length, 4);
        memcpy(q + 12, data_head, body_at);
        uint8_t *body = q + 12 + body_at;
        memcpy(body, pattern, opt.size);
        memcpy(body, head, now && opt.size >= 16 ? 16 : opt.size < 8 ? opt.size : 8);
        if (now) p->sent_at[id & (ring - 1)] = now;
    }
    b->len += n * each;
    p->sent += n; p->due -= n;
    frame_finish(b, at);
}

/* Compose what the publishers of a connection may send, about 256 KiB at most. Returns 0 when that is nothing. */
static int compose(conn_t *c)
{
    int idle = 0;
    uint64_t now = opt.rate ? now_ns() : 0;
    size_t before = c->out.len;
    while (idle < c->npublishers && c->out.len - before < 256 * 1024) {
        publisher_t *p = &c->publishers[c->turn];
        c->turn = (c->turn + 1) % c->npublishers;
        long n = may_send(p);
        if (n <= 0) { idle++; continue; }
        idle = 0;
        put_frame(c, p, n < opt.batch ? n : opt.batch, now);
    }
    return c->out.len > before;
}

static void on_confirm(conn_t *c, const frame_t *f)
{
    int id = f->data[0];
    uint32_t n = get32(f->data + 1);
    if (id >= c->npublishers || f->size != 5 + 8ull * n) die("bad confirm");
    publisher_t *p = &c->publishers[id];
    uint64_t now = opt.rate ? now_ns() : 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t x = get64(f->data + 5 + 8 * i);
        if (x < p->low || x >= p->next || p->confirmed[x & (ring - 1)]) { confirm_errors++; continue; }
        p->confirmed[x & (ring - 1)] = 1;
        p->acked++;
        if (now) hist_add(now - p->sent_at[x & (ring - 1)]);
    }
    for (; p->low < p->next && p->confirmed[p->low & (ring - 1)]; p->low++) p->confirmed[p->low & (ring - 1)] = 0;
}

/* ------------------------------------------------------------------- consume */

static void put_subscribe(conn_t *c, consumer_t *k, int type)
{
    size_t at = request_begin(&c->out, SUBSCRIBE);
    put8(&c->out, k->id); put_string(&c->out, stream_name(k->stream));
    put16(&c->out, type);
    if (type == OFFSET) put64(&c->out, strtoull(opt.offset, NULL, 10));
    put16(&c->out, opt.credit);
    put32(&c->out, 0);
    frame_finish(&c->out, at);
    k->began = 0;
}

static int offset_type(void)
{
    const char *o = opt.offset;
    return !strcmp(o, "first") ? FIRST : !strcmp(o, "last") ? LAST : !strcmp(o, "next") ? NEXT : OFFSET;
}

/* With --fill: begin at the first offset again, under another id so that nothing of before is taken for it. */
static void begin_again(conn_t *c, consumer_t *k)
{
    size_t at = request_begin(&c->out, UNSUBSCRIBE);
    put8(&c->out, k->id);
    frame_finish(&c->out, at);
    k->id ^= ALTERNATE;
    k->credit = 0;
    k->passes++;
    if (k->expected) memset(k->expected, 0, opt.publishers * sizeof *k->expected);
    put_subscribe(c, k, FIRST);
}

static void check_body(consumer_t *k, const uint8_t *body, uint32_t n, uint64_t offset)
{
    if (n != body_at + opt.size || n < body_at + 8) { sequence_errors++; return; }
    body += body_at;
    uint64_t head = get64(body), sequence = head & 0xffffffffffff;
    int publisher = head >> 48;
    if (publisher >= opt.publishers) { sequence_errors++; return; }
    uint64_t *expected = &k->expected[publisher];
    if (*expected && sequence != *expected && !sequence_errors++)
        fprintf(stderr, "%s: offset %lu has sequence %lu of publisher %d, expected %lu\n",
                program, offset, sequence, publisher, *expected);
    if (memcmp(body + 16, pattern + 16, opt.size > 16 ? opt.size - 16 : 0)) sequence_errors++;
    *expected = sequence + 1;
}

static void check_chunk(consumer_t *k, const uint8_t *chunk, uint32_t octets)
{
    uint32_t entries = get16(chunk + 2), records = get32(chunk + 4);
    uint64_t first = get64(chunk + 24);
    if (crc32_of(chunk + HEAD, octets) != get32(chunk + 32)) crc_errors++;
    const uint8_t *p = chunk + HEAD, *end = p + octets;
    uint64_t offset = first;
    for (; entries && p + 4 <= end; entries--, offset++) {
        uint32_t n = get32(p);
        if (n >> 31 || n > (size_t)(end - p - 4)) { sequence_errors++; return; }
        check_body(k, p + 4, n, offset);
        p += 4 + n;
    }
    if (entries || p != end || offset - first != records) sequence_errors++;
}

static void on_deliver(conn_t *c, const frame_t *f)
{
    const uint8_t *chunk = f->data + 1;
    consumer_t *k = NULL;
    for (int i = 0; i < c->nconsumers && !k; i++) if (c->consumers[i].id == f->data[0]) k = &c->consumers[i];
    if (!k) return;                                        /* of the subscription before */
    uint32_t records = get32(chunk + 4), octets = get32(chunk + 36);
    uint64_t first = get64(chunk + 24);
    if (f->size < 1 + HEAD || chunk[0] != 0x50 || chunk[1] || octets != f->size - 1 - HEAD) die("bad chunk");
    if (k->began && first != k->next) { k->gaps++; if (first < k->next) sequence_errors++; }
    if (opt.rate && opt.size >= 16 && octets >= 20 + body_at) {
        uint64_t now = now_ns(), sent;
        const uint8_t *p = chunk + HEAD;
        for (uint32_t i = 0; i < get16(chunk + 2); i++, p += 4 + get32(p)) {
            memcpy(&sent, p + 4 + body_at + 8, 8);
            hist_add(now > sent ? now - sent : 0);
        }
    }
    if (opt.verify) check_chunk(k, chunk, octets);
    k->began = 1;
    k->next = first + records;
    k->consumed += records;
    k->octets += octets;
    k->chunks++;
    k->credit++;
    if (opt.fill && k->next >= (uint64_t)opt.fill) begin_again(c, k);
}

static void put_credits(conn_t *c)
{
    for (int i = 0; i < c->nconsumers; i++) {
        consumer_t *k = &c->consumers[i];
        if (!k->credit) continue;
        size_t at = frame_begin(&c->out, CREDIT);
        put8(&c->out, k->id); put16(&c->out, k->credit);
        frame_finish(&c->out, at);
        k->credit = 0;
    }
}

/* ---------------------------------------------------------------- event loop */

static int ep, nconns;
static conn_t **conns;

static void arm(conn_t *c, int out)
{
    if (c->want_out == out) return;
    struct epoll_event e = { .events = EPOLLIN | (out ? EPOLLOUT : 0), .data.ptr = c };
    epoll_ctl(ep, EPOLL_CTL_MOD, c->fd, &e);
    c->want_out = out;
}

/* Send what there is and what may be composed, about 1 MiB a call. */
static void flush(conn_t *c)
{
    for (int i = 0; i < 4; i++) {
        if (c->out_off == c->out.len) {
            c->out.len = c->out_off = 0;
            if (!c->npublishers || !compose(c)) break;
        }
        ssize_t n = send(c->fd, c->out.p + c->out_off, c->out.len - c->out_off, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR) die("send: %s", strerror(errno));
        if (n > 0) c->out_off += n;
        if (c->out_off < c->out.len) { arm(c, 1); return; }
    }
    arm(c, c->out_off < c->out.len);
    if (!c->want_out && c->npublishers)
        for (int i = 0; i < c->npublishers; i++) if (may_send(&c->publishers[i]) > 0) { arm(c, 1); return; }
}

static void on_readable(conn_t *c)
{
    frame_t f;
    if (!fill(c)) return;
    while (next_frame(c, &f)) {
        switch (f.key) {
        case PUBLISH_CONFIRM: on_confirm(c, &f); break;
        case PUBLISH_ERROR: publish_errors += get32(f.data + 1); break;
        case DELIVER: on_deliver(c, &f); break;
        case SUBSCRIBE | REPLY:
        case UNSUBSCRIBE | REPLY: if (code_of(f) != OK) die("subscription: code %d", code_of(f)); break;
        case HEARTBEAT: break;
        default: die("unexpected command %#x", f.key);
        }
    }
    if (c->rpos == c->rlen && c->rcap > (4u << 20)) {      /* a large chunk once is no reason to keep its room */
        c->rcap = 256 * 1024;
        c->rb = realloc(c->rb, c->rcap);
        c->rpos = c->rlen = 0;
    }
    put_credits(c);
    if (!c->want_out) flush(c);
}

typedef struct { long sent, acked, consumed, octets, chunks, gaps, passes; } totals_t;

static totals_t totals(void)
{
    totals_t t = { 0 };
    for (int i = 0; i < nconns; i++) {
        for (int j = 0; j < conns[i]->npublishers; j++) {
            t.sent += conns[i]->publishers[j].sent; t.acked += conns[i]->publishers[j].acked;
        }
        for (int j = 0; j < conns[i]->nconsumers; j++) {
            consumer_t *k = &conns[i]->consumers[j];
            t.consumed += k->consumed; t.octets += k->octets; t.chunks += k->chunks;
            t.gaps += k->gaps; t.passes += k->passes;
        }
    }
    return t;
}

static void note_due(double elapsed)
{
    for (int i = 0; i < nconns; i++)
        for (int j = 0; j < conns[i]->npublishers; j++) {
            publisher_t *p = &conns[i]->publishers[j];
            double phase = (double)p->number / opt.publishers;
            p->due = (long)(elapsed * opt.rate / opt.publishers + phase) - p->sent;
            if (p->due > 0 && !conns[i]->want_out) flush(conns[i]);
        }
}

static int start_timer(void)
{
    prctl(PR_SET_TIMERSLACK, 1);
    long every = 1000000000l / opt.rate;
    if (every < 200000) every = 200000;
    struct itimerspec ts = { { every / 1000000000l, every % 1000000000l }, { every / 1000000000l, every % 1000000000l } };
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    timerfd_settime(fd, 0, &ts, NULL);
    struct epoll_event e = { .events = EPOLLIN, .data.ptr = NULL };
    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
    return fd;
}

/* A turn of the loop: what is readable and writable, 5 ms at most. */
static void turn(int timer, uint64_t begin)
{
    struct epoll_event ev[64];
    int n = epoll_wait(ep, ev, 64, 5);
    for (int i = 0; i < n; i++) {
        conn_t *c = ev[i].data.ptr;
        uint64_t x;
        if (!c) { if (read(timer, &x, 8) == 8) note_due((now_ns() - begin) / 1e9); continue; }
        if (ev[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) on_readable(c);
        if (ev[i].events & EPOLLOUT) flush(c);
    }
}

static conn_t *watched(void)
{
    conn_t *c = conn_open();
    conns = realloc(conns, (nconns + 1) * sizeof *conns);
    return conns[nconns++] = c;
}

static void watch(conn_t *c)
{
    wait_at_most(c->fd, 0);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    struct epoll_event e = { .events = EPOLLIN, .data.ptr = c };
    epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &e);
}

static void open_publishers(void)
{
    for (int i = 0; i < opt.publishers; ) {
        conn_t *c = watched();
        if (c->frame_max && (size_t)opt.batch * (12 + body_at + opt.size) + 13 > c->frame_max)
            die("frames of --batch %d are above %u octets", opt.batch, c->frame_max);
        c->publishers = calloc(opt.per_connection, sizeof *c->publishers);
        for (; i < opt.publishers && c->npublishers < opt.per_connection; i++) {
            publisher_t *p = &c->publishers[c->npublishers];
            *p = (publisher_t){ .number = i, .id = c->npublishers++, .stream = i % opt.streams };
            p->limit = opt.messages;
            declare_publisher(c, p);
        }
        watch(c);
    }
}

static void open_consumers(void)
{
    for (int i = 0; i < opt.consumers; ) {
        conn_t *c = watched();
        c->consumers = calloc(opt.per_connection, sizeof *c->consumers);
        for (; i < opt.consumers && c->nconsumers < opt.per_connection; i++) {
            consumer_t *k = &c->consumers[c->nconsumers];
            *k = (consumer_t){ .number = i, .id = c->nconsumers++, .stream = i % opt.streams };
            if (opt.verify) k->expected = calloc(opt.publishers, sizeof *k->expected);
            put_subscribe(c, k, opt.fill ? FIRST : offset_type());
        }
        watch(c);
        flush(c);
    }
}

/* Publish --fill messages to each stream, all confirmed, before anything is measured. */
static void prefill(void)
{
    int publishers = opt.publishers, rate = opt.rate;
    opt.messages = opt.fill;
    opt.publishers = opt.streams;
    opt.rate = 0;
    open_publishers();
    uint64_t last = now_ns();
    for (long acked = 0; acked < opt.fill * opt.streams; ) {
        for (int i = 0; i < nconns; i++) if (!conns[i]->want_out) flush(conns[i]);
        turn(-1, 0);
        long n = totals().acked;
        if (n > acked) { acked = n; last = now_ns(); }
        else if (now_ns() - last > WAIT_S * 1000000000ull) die("no confirm in %d s", WAIT_S);
    }
    for (int i = 0; i < nconns; i++) close(conns[i]->fd);
    nconns = 0;
    opt.publishers = publishers;
    opt.rate = rate;
    opt.messages = 0;
}

static void create_streams(conn_t *c)
{
    for (int i = 0; opt.declare && i < opt.streams; i++) {
        size_t at = request_begin(&c->out, CREATE);
        put_string(&c->out, stream_name(i));
        put32(&c->out, 0);
        int code = code_of(call(c, CREATE, at));
        if (code != OK && code != 5) die("create: code %d", code);
    }
}

static void delete_streams(conn_t *c)
{
    for (int i = 0; opt.declare && !opt.keep && i < opt.streams; i++) {
        size_t at = request_begin(&c->out, DELETE);
        put_string(&c->out, stream_name(i));
        must(c, DELETE, at, "delete");
    }
}

static int finished(totals_t t)
{
    long all = opt.messages * opt.publishers;
    /* Every consumer of a stream gets what all its publishers sent. */
    long wanted = opt.consumers && offset_type() != LAST ? all / opt.streams * opt.consumers : 0;
    return opt.messages && t.acked + publish_errors >= all && t.consumed >= wanted;
}

static void run(void)
{
    conn_t *admin = conn_open();
    create_streams(admin);
    double rss_setup = broker_rss();
    ep = epoll_create1(EPOLL_CLOEXEC);
    if (opt.fill) prefill();
    open_consumers();
    if (!opt.fill) open_publishers();
    int timer = opt.rate ? start_timer() : -1;
    int warm = opt.messages ? 0 : opt.warmup, measuring = 0;
    uint64_t t0 = now_ns(), begin = t0 + warm * 1000000000ull, stop = begin + opt.seconds * 1000000000ull, end;
    totals_t a = { 0 }, b;
    double cpu0 = 0, client0 = 0, rss0 = 0;
    for (int i = 0; i < nconns; i++) flush(conns[i]);
    for (;;) {
        end = now_ns();
        if (!measuring && end >= begin) {
            measuring = 1;
            begin = end;
            if (!opt.messages) a = totals();
            cpu0 = broker_cpu(); client0 = self_cpu(); rss0 = broker_rss();
            memset(hist, 0, sizeof hist);
            hist_n = hist_max = 0;
        }
        if (end >= stop || (opt.messages && finished(totals()))) break;
        turn(timer, t0);
    }
    b = totals();
    double cpu = broker_cpu() - cpu0, client = self_cpu() - client0, rss1 = broker_rss(), s = (end - begin) / 1e9;
    printf("{\"mode\":\"stream\",\"x\":%d,\"y\":%d,\"size\":%d,\"batch\":%d,\"window\":%d,\"streams\":%d,\"seconds\":%.3f,"
           "\"published\":%ld,\"confirmed\":%ld,\"consumed\":%ld,\"pub_rate\":%.0f,\"conf_rate\":%.0f,\"cons_rate\":%.0f,"
           "\"cons_mb_rate\":%.1f,\"chunks\":%ld,\"gaps\":%ld,\"passes\":%ld,",
           opt.fill ? 0 : opt.publishers, opt.consumers, opt.size, opt.batch, opt.window, opt.streams, s,
           b.sent - a.sent, b.acked - a.acked, b.consumed - a.consumed,
           (b.sent - a.sent) / s, (b.acked - a.acked) / s, (b.consumed - a.consumed) / s,
           (b.octets - a.octets) / s / 1e6, b.chunks - a.chunks, b.gaps - a.gaps, b.passes - a.passes);
    if (opt.rate)
        printf("\"rate\":%d,\"lat_us\":{\"p50\":%.0f,\"p95\":%.0f,\"p99\":%.0f,\"p999\":%.0f,\"max\":%.0f},",
               opt.rate, hist_us(.5), hist_us(.95), hist_us(.99), hist_us(.999), hist_max / 1000.0);
    if (crc_errors || sequence_errors || confirm_errors || publish_errors)
        printf("\"error\":\"%ld CRC, %ld sequence, %ld confirm, %ld publish\",",
               crc_errors, sequence_errors, confirm_errors, publish_errors);
    else if (opt.messages && !finished(b)) printf("\"error\":\"not done in %d s\",", opt.seconds);
    printf("\"broker_cpu_pct\":%.0f,\"broker_cpu_s\":%.2f,\"rss_setup_mb\":%.1f,\"rss0_mb\":%.1f,"
           "\"rss1_mb\":%.1f,\"client_cpu_pct\":%.0f}\n", 100 * cpu / s, cpu, rss_setup, rss0, rss1, 100 * client / s);
    fflush(stdout);
    for (int i = 0; i < nconns; i++) close(conns[i]->fd);
    delete_streams(admin);
}

/* --------------------------------------------------------------------- main */

static void usage(void)
{
    puts("streamload [--host H] [--port P] [--user U] [--password P] [--vhost V] [--pid BROKER (CPU and RSS)]\n"
         "  -x, --publishers N   -y, --consumers N   --per-connection N (of either, 1)\n"
         "  -u, --stream NAME    --streams N (NAME-0 ...; publisher and consumer i have stream i modulo N)\n"
         "  -s, --size OCTETS    --batch MESSAGES a frame (100)     -c, --window UNCONFIRMED of a publisher (20000)\n"
         "  -z, --seconds N      --warmup N    --messages N of each publisher: stop when done (-z is the limit)\n"
         "  --fill N in each stream, which the consumers then read from the first, again and again\n"
         "  --offset first|last|next|N         --credit CHUNKS (10)\n"
         "  --named PREFIX (PREFIX-0 ...: publishers with references, going on where each one ended)\n"
         "  --rate N messages/s in all, with latency percentiles: of deliveries, if there are consumers and bodies have\n"
         "      16 octets, else of confirms\n"
         "  --verify (CRC and every body)      --amqp (bodies are the data of AMQP 1.0 messages)\n"
         "  --no-declare   --keep (do not delete)");
    exit(2);
}

static void prepare(void)
{
    for (size_t i = 0; i < sizeof pattern; i++) pattern[i] = 'a' + i % 26;
    if (opt.amqp) {
        uint8_t small[] = { 0, 0x53, 0x75, 0xA0, opt.size };
        uint8_t large[] = { 0, 0x53, 0x75, 0xB0, opt.size >> 24, opt.size >> 16, opt.size >> 8, opt.size };
        body_at = opt.size < 256 ? sizeof small : sizeof large;
        memcpy(data_head, opt.size < 256 ? small : large, body_at);
    }
    if (opt.batch > opt.window) opt.batch = opt.window;
    for (ring = 1; ring < (size_t)opt.window; ring *= 2) ;
    crc_prepare();
    if (opt.publishers > 65535 || opt.per_connection > ALTERNATE) die("at most 65535 publishers, 128 a connection");
    if (opt.size > (int)sizeof pattern) die("at most %zu octets", sizeof pattern);
    if (opt.verify && opt.size < 8) die("--verify needs -s 8 or more");
    if (opt.batch < 1 || opt.streams < 1 || opt.credit < 1) die("--batch, --streams and --credit are 1 at least");
}

int main(int argc, char **argv)
{
    enum { HOST = 256, PORT, USER, PASSWORD, VHOST, PID, PER, STREAMS, BATCH, WARM, MESSAGES, FILL, WHERE, CREDITS,
           NAMED, RATE, VERIFY, AMQP, NODECL, KEEP };
    static const struct option lo[] = {
        { "host", 1, 0, HOST }, { "port", 1, 0, PORT }, { "user", 1, 0, USER }, { "password", 1, 0, PASSWORD },
        { "vhost", 1, 0, VHOST }, { "pid", 1, 0, PID }, { "publishers", 1, 0, 'x' }, { "consumers", 1, 0, 'y' },
        { "per-connection", 1, 0, PER }, { "stream", 1, 0, 'u' }, { "streams", 1, 0, STREAMS }, { "size", 1, 0, 's' },
        { "batch", 1, 0, BATCH }, { "window", 1, 0, 'c' }, { "seconds", 1, 0, 'z' }, { "warmup", 1, 0, WARM },
        { "messages", 1, 0, MESSAGES }, { "fill", 1, 0, FILL }, { "offset", 1, 0, WHERE }, { "credit", 1, 0, CREDITS },
        { "named", 1, 0, NAMED }, { "rate", 1, 0, RATE }, { "verify", 0, 0, VERIFY }, { "amqp", 0, 0, AMQP },
        { "no-declare", 0, 0, NODECL }, { "keep", 0, 0, KEEP }, { 0 } };
    int o;
    while ((o = getopt_long(argc, argv, "x:y:s:z:c:u:h", lo, NULL)) != -1) switch (o) {
        case 'x': opt.publishers = atoi(optarg); break;
        case 'y': opt.consumers = atoi(optarg); break;
        case 's': opt.size = atoi(optarg); break;
        case 'z': opt.seconds = atoi(optarg); break;
        case 'c': opt.window = atoi(optarg); break;
        case 'u': opt.stream = optarg; break;
        case HOST: opt.host = optarg; break;
        case PORT: opt.port = atoi(optarg); break;
        case USER: opt.user = optarg; break;
        case PASSWORD: opt.password = optarg; break;
        case VHOST: opt.vhost = optarg; break;
        case PID: broker_pid = atoi(optarg); break;
        case PER: opt.per_connection = atoi(optarg); break;
        case STREAMS: opt.streams = atoi(optarg); break;
        case BATCH: opt.batch = atoi(optarg); break;
        case WARM: opt.warmup = atoi(optarg); break;
        case MESSAGES: opt.messages = atol(optarg); break;
        case FILL: opt.fill = atol(optarg); break;
        case WHERE: opt.offset = optarg; break;
        case CREDITS: opt.credit = atoi(optarg); break;
        case NAMED: opt.named = optarg; break;
        case RATE: opt.rate = atoi(optarg); break;
        case VERIFY: opt.verify = 1; break;
        case AMQP: opt.amqp = 1; break;
        case NODECL: opt.declare = 0; break;
        case KEEP: opt.keep = 1; break;
        default: usage();
    }
    signal(SIGPIPE, SIG_IGN);
    program = "streamload";
    struct rlimit rl;
    if (!getrlimit(RLIMIT_NOFILE, &rl)) { rl.rlim_cur = rl.rlim_max; setrlimit(RLIMIT_NOFILE, &rl); }
    static char unique[64];
    snprintf(unique, sizeof unique, "load-%d", (int)getpid());
    if (!opt.stream) opt.stream = unique;
    prepare();
    run();
    return 0;
}
