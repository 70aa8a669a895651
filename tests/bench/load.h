/*
 * load.h - what the load generators have in common: the clock, big-endian octets, a growable buffer, the broker's CPU
 * time and memory, and a histogram of latencies.
 */
#ifndef LOAD_H
#define LOAD_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <endian.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const char *program = "load";                       /* in front of what die() says */
static int broker_pid;                                     /* of whom CPU time and memory are told, or 0 */

/* ------------------------------------------------------------------- basics */

static void die(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "%s: ", program);
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "\n");
    va_end(ap);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + t.tv_nsec;
}

static uint16_t get16(const uint8_t *p) { uint16_t v; memcpy(&v, p, 2); return be16toh(v); }
static uint32_t get32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return be32toh(v); }
static uint64_t get64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return be64toh(v); }

/* Growable buffer with big-endian encoders. */
typedef struct { uint8_t *p; size_t len, cap; } buf_t;

static void put(buf_t *b, const void *src, size_t n)
{
    if (b->len + n > b->cap) {
        b->cap = (b->len + n) * 2 + 256;
        b->p = realloc(b->p, b->cap);
        if (!b->p) die("out of memory");
    }
    memcpy(b->p + b->len, src, n);
    b->len += n;
}
static void put8(buf_t *b, uint8_t v) { put(b, &v, 1); }
static void put16(buf_t *b, uint16_t v) { v = htobe16(v); put(b, &v, 2); }
static void put32(buf_t *b, uint32_t v) { v = htobe32(v); put(b, &v, 4); }
static void put64(buf_t *b, uint64_t v) { v = htobe64(v); put(b, &v, 8); }

/* ------------------------------------------------- broker CPU, RSS; histogram */

/* Adds up one figure over the broker's process and all its descendants. */
static double over_tree(int pid, double (*figure)(int pid))
{
    char path[64];
    double sum = figure(pid);
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    if (!tasks) return sum;
    for (struct dirent *t; (t = readdir(tasks)); ) {
        char children[352];
        snprintf(children, sizeof children, "%s/%s/children", path, t->d_name);
        FILE *f = t->d_name[0] == '.' ? NULL : fopen(children, "r");
        if (!f) continue;
        for (int child; fscanf(f, "%d", &child) == 1; ) sum += over_tree(child, figure);
        fclose(f);
    }
    closedir(tasks);
    return sum;
}

static double process_cpu(int pid)                         /* seconds */
{
    char path[64], line[1024];
    unsigned long u = 0, s = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    if (fgets(line, sizeof line, f)) {
        char *p = strrchr(line, ')');
        if (p) sscanf(p + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &u, &s);
    }
    fclose(f);
    return (double)(u + s) / sysconf(_SC_CLK_TCK);
}

static double process_rss(int pid)                         /* MiB */
{
    char path[64];
    long rss = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    if (fscanf(f, "%*d %ld", &rss) != 1) rss = 0;
    fclose(f);
    return rss * (double)sysconf(_SC_PAGESIZE) / 1048576;
}

static double broker_cpu(void) { return broker_pid ? over_tree(broker_pid, process_cpu) : 0; }
static double broker_rss(void) { return broker_pid ? over_tree(broker_pid, process_rss) : 0; }

static double self_cpu(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return r.ru_utime.tv_sec + r.ru_stime.tv_sec + (r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

#define SUB 64                                             /* buckets per power of two */
static uint64_t hist[64 * SUB], hist_n, hist_max;

static void hist_add(uint64_t ns)                          /* log-linear, about 1.6 % wide */
{
    int e = ns < SUB ? 0 : 58 - __builtin_clzll(ns);       /* ns >> e lies in [SUB/2, SUB) */
    hist[e * SUB + (ns >> e)]++;
    hist_n++;
    if (ns > hist_max) hist_max = ns;
}

static double hist_us(double q)
{
    uint64_t want = (uint64_t)(q * hist_n), seen = 0;
    for (int i = 0; i < 64 * SUB; i++) {
        seen += hist[i];
        if (hist[i] && seen >= want) return (double)((uint64_t)(i % SUB) << (i / SUB)) / 1000;
    }
    return 0;
}

#endif
