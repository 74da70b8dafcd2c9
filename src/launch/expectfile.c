// Expectation files: what buffers must hold, condensed. One file has a section for each size and
// buffer:
//
//   orrery expectations 1
//   buffer y size small type f32 count 4096 hash 3c0f... near chunks 128
//   -1.25 17.5 0.125 0
//   ...
//
// A buffer is cut into equal chunks (the last may be shorter). An `exact` section has for every chunk a
// hash and the first element; a `near` one, for buffers compared with a tolerance, the sum of the
// finite elements, the sum of their magnitudes, the first element and how many elements are not
// finite. The hash of the section is over the chunks' hashes; it decides exact comparisons, and the
// chunks only tell where a difference is. If every element is within the tolerance, so is the sum of
// a chunk within rtol * magnitudes + atol * elements.
#include "launch/script.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { EXACT_CHUNKS = 32, NEAR_CHUNKS = 128, MAX_EXPECT_BYTES = 64 << 20 };
static const char first_line[] = "orrery expectations 1\n";

typedef struct chunk {
    uint64_t hash;
    double sum, magnitude;
    uint64_t odd;     // not finite
    uint8_t first[8]; // element
} chunk;

typedef struct section { // a section of a file; text points into it
    const char *head, *body, *end;
    char buffer[1024], size[1024], type[8];
    uint64_t count, hash;
    bool exact;
    uint64_t chunks;
} section;

// Four lanes, so that the multiplications overlap. Blocks but the last of a chunk are whole lanes.
static void hash_bytes(uint64_t h[4], const uint8_t *p, uint64_t n) {
    uint64_t w[4];
    for (; n; p += 32) {
        uint64_t take = n < 32 ? n : 32;
        if (take < 32) memset(w, 0, 32);
        memcpy(w, p, take);
        for (int k = 0; k < 4; k++) {
            uint64_t x = (h[k] ^ w[k]) * 0x9e3779b97f4a7c15ull;
            h[k] = x ^ x >> 29;
        }
        n -= take;
    }
}

static uint64_t chunk_elements(uint64_t count, uint64_t chunks) { return (count + chunks - 1) / chunks; }

// Read elements [at, at + n) of the buffer and condense them.
static void condense(run *r, const buffer *b, uint64_t at, uint64_t n, chunk *c, int line) {
    uint32_t size = orr_elem_bytes(b->type);
    uint64_t per = BLOCK_BYTES / size;
    uint64_t h[4] = {n, 1, 2, 3};
    *c = (chunk){0};
    for (uint64_t done = 0; done < n; done += per) {
        uint64_t take = n - done < per ? n - done : per;
        orr_buffer_read(r, b, at + done, take, r->block, line);
        if (!done) memcpy(c->first, r->block, size);
        hash_bytes(h, r->block, take * size);
        for (uint64_t k = 0; k < take; k++) {
            double v = orr_elem_double(b->type, r->block + k * size);
            if (v - v != 0) {
                c->odd++;
                continue;
            }
            c->sum += v;
            c->magnitude += v < 0 ? -v : v;
        }
    }
    for (int k = 0; k < 4; k++) c->hash = orr_mix64(c->hash ^ h[k], 0);
}

// ---- writing --------------------------------------------------------------------------------
static void make_section(run *r, const stmt *st, bool exact, orr_text *out) {
    const buffer *b = orr_buffer(r, st->slot, st->line);
    const char *size = orr_script_size(r->s);
    uint64_t per = chunk_elements(b->count, exact ? EXACT_CHUNKS : NEAR_CHUNKS);
    uint64_t chunks = (b->count + per - 1) / per, hash = 0;
    orr_text body = {0};
    char text[80];
    for (uint64_t k = 0; k < chunks; k++) {
        chunk c;
        uint64_t left = b->count - k * per;
        condense(r, b, k * per, left < per ? left : per, &c, st->line);
        hash = orr_mix64(hash ^ c.hash, 0);
        orr_elem_text(b->type, c.first, false, text);
        if (exact)
            orr_text_add(&body, "%08x %s\n", (uint32_t)c.hash, text);
        else
            orr_text_add(&body, "%.12g %.6g %s %" PRIu64 "\n", c.sum, c.magnitude, text, c.odd);
    }
    orr_text_add(out,
                 "buffer %s size %s type %s count %" PRIu64 " hash %016" PRIx64 " %s chunks %" PRIu64 "\n",
                 r->s->names.at[st->slot].text, *size ? size : "-", orr_elem_name(b->type), b->count, hash,
                 exact ? "exact" : "near", chunks);
    orr_text_addn(out, body.s, body.n);
    free(body.s);
}

// ---- reading --------------------------------------------------------------------------------
static bool begins(const char *at, const char *end, const char *with) {
    size_t n = strlen(with);
    return (size_t)(end - at) >= n && !memcmp(at, with, n);
}

static const char *next_line(const char *at, const char *end) {
    const char *nl = memchr(at, '\n', (size_t)(end - at));
    return nl ? nl + 1 : end;
}

// The section at `at`, false when its head is not one.
static bool read_section(const char *at, const char *end, section *s) {
    *s = (section){.head = at, .body = next_line(at, end)};
    char head[2600], kind[8];
    size_t n = (size_t)(s->body - at);
    if (n >= sizeof head) return false;
    memcpy(head, at, n);
    head[n] = 0;
    int got = sscanf(
        head, "buffer %1023s size %1023s type %7s count %" SCNu64 " hash %" SCNx64 " %7s chunks %" SCNu64,
        s->buffer, s->size, s->type, &s->count, &s->hash, kind, &s->chunks);
    if (got != 7 || (strcmp(kind, "exact") && strcmp(kind, "near"))) return false;
    s->exact = !strcmp(kind, "exact");
    if (!s->count || !s->chunks || s->chunks > NEAR_CHUNKS) return false;
    uint64_t per = chunk_elements(s->count, s->chunks);
    if ((s->count - 1) / per + 1 != s->chunks) return false;
    s->end = s->body;
    while (s->end < end && !begins(s->end, end, "buffer ")) s->end = next_line(s->end, end);
    return true;
}

static bool of_this(run *r, const stmt *st, const section *s) {
    const char *size = orr_script_size(r->s);
    return !strcmp(s->buffer, r->s->names.at[st->slot].text) && !strcmp(s->size, *size ? size : "-");
}

// The file's contents into r->file; NULL when there is none and that is allowed.
static const char *read_file(run *r, const stmt *st, const char *path, bool may_miss, const char **end) {
    orr_err why = {0};
    size_t n = 0;
    free(r->file);
    r->file = NULL;
    FILE *f = may_miss ? fopen(path, "rb") : NULL;
    if (may_miss && !f) return NULL;
    if (f) fclose(f);
    r->file = orr_read_file(path, MAX_EXPECT_BYTES, &n, &why);
    if (!r->file) stop(r, ORR_BAD_INPUT, st->line, "%s; make it with workloads/reference", why.text);
    *end = r->file + n;
    if (!begins(r->file, *end, first_line)) {
        stop(r, ORR_BAD_INPUT, st->line,
             "%s: is no file of expectations of version 1; remake it with workloads/reference", path);
    }
    return r->file + strlen(first_line);
}

// Replace or add this buffer's section; the others stay as they are.
void orr_expect_write(run *r, const stmt *st, const char *path, bool exact) {
    const char *end = NULL, *at = read_file(r, st, path, true, &end);
    orr_out out;
    if (!orr_out_open(&out, path, r->e)) longjmp(r->out, 1);
    fputs(first_line, out.f);
    orr_text text = {0};
    section s;
    bool put = false;
    make_section(r, st, exact, &text);
    while (at && at < end) {
        if (!read_section(at, end, &s)) {
            free(text.s);
            orr_out_abort(&out);
            stop(r, ORR_BAD_INPUT, st->line, "%s: is damaged; delete it and make it again", path);
        }
        if (!of_this(r, st, &s)) {
            fwrite(s.head, 1, (size_t)(s.end - s.head), out.f);
        } else if (!put) {
            fwrite(text.s, 1, text.n, out.f);
            put = true;
        }
        at = s.end;
    }
    if (!put) fwrite(text.s, 1, text.n, out.f);
    free(text.s);
    if (!orr_out_commit(&out, r->e)) longjmp(r->out, 1);
}

// ---- comparing ------------------------------------------------------------------------------
// An element as the file writes it.
static bool parse_element(int type, const char *text, uint8_t out[8]) {
    char *end;
    value v;
    if (orr_elem_float(type))
        v = (value){.kind = V_FLOAT, .f = strtod(text, &end)};
    else if (text[0] == '-')
        v = (value){.kind = V_INT, .i = strtoll(text, &end, 10)};
    else
        v = (value){.kind = V_INT, .i = (int64_t)strtoull(text, &end, 10)};
    memset(out, 0, 8);
    return !*end && end != text && orr_elem_store(type, v, false, out);
}

typedef struct place { // for messages
    run *r;
    const stmt *st;
    const char *path;
    uint64_t first, n;
    int type;
} place;

static _Noreturn void wrong_element(const place *p, const chunk *got, const uint8_t want[8], bool bits) {
    char a[80], b[80];
    stop(p->r, ORR_PROGRAM_FAILED, p->st->line,
         "buffer %s, element %" PRIu64 ": it holds %s and should hold %s",
         p->r->s->names.at[p->st->slot].text, p->first, orr_elem_text(p->type, got->first, bits, a),
         orr_elem_text(p->type, want, bits, b));
}

static _Noreturn void damaged(const place *p) {
    stop(p->r, ORR_BAD_INPUT, p->st->line,
         "%s: the section of buffer %s is damaged; remake it with workloads/reference", p->path,
         p->r->s->names.at[p->st->slot].text);
}

static void exact_chunk(const place *p, const char *line, const chunk *got) {
    char first[80];
    uint32_t hash;
    uint8_t want[8];
    if (sscanf(line, "%8" SCNx32 " %79s", &hash, first) != 2 || !parse_element(p->type, first, want))
        damaged(p);
    if (hash == (uint32_t)got->hash) return;
    double v = orr_elem_double(p->type, want); // the file does not keep a NaN's bits
    if (v == v && memcmp(want, got->first, orr_elem_bytes(p->type))) wrong_element(p, got, want, true);
    stop(p->r, ORR_PROGRAM_FAILED, p->st->line,
         "buffer %s, elements %" PRIu64 " to %" PRIu64
         ": their hash is %08x and should be %08x (the first of them is right: %s)",
         p->r->s->names.at[p->st->slot].text, p->first, p->first + p->n - 1, (uint32_t)got->hash, hash,
         first);
}

static void near_chunk(const place *p, const char *line, const chunk *got, double rtol, double atol) {
    char sum_text[80], magnitude_text[80], first[80];
    uint64_t odd;
    uint8_t want[8];
    if (sscanf(line, "%79s %79s %79s %" SCNu64, sum_text, magnitude_text, first, &odd) != 4 ||
        !parse_element(p->type, first, want))
        damaged(p);
    double sum = strtod(sum_text, NULL), magnitude = strtod(magnitude_text, NULL);
    if (!orr_near(orr_elem_double(p->type, got->first), orr_elem_double(p->type, want), rtol, atol))
        wrong_element(p, got, want, false);
    const char *name = p->r->s->names.at[p->st->slot].text;
    if (odd != got->odd) {
        stop(p->r, ORR_PROGRAM_FAILED, p->st->line,
             "buffer %s, elements %" PRIu64 " to %" PRIu64 ": %" PRIu64
             " of them are infinite or NaN and should be %" PRIu64,
             name, p->first, p->first + p->n - 1, got->odd, odd);
    }
    // 1e-11: the file's twelve digits and the order of summation; 1e-5: its six digits of magnitude
    double room = atol * (double)p->n + (rtol * 1.00001 + 1e-11) * magnitude;
    double off = got->sum < sum ? sum - got->sum : got->sum - sum;
    if (got->sum == sum || off <= room || (room - room != 0 && off - off != 0)) return;
    stop(p->r, ORR_PROGRAM_FAILED, p->st->line,
         "buffer %s, elements %" PRIu64 " to %" PRIu64
         ": their sum is %.12g and should be %.12g, at most %.3g off",
         name, p->first, p->first + p->n - 1, got->sum, sum, room);
}

void orr_expect_compare(run *r, const stmt *st, const char *path, double rtol, double atol, bool exact) {
    const buffer *b = orr_buffer(r, st->slot, st->line);
    const char *end, *at = read_file(r, st, path, false, &end), *name = r->s->names.at[st->slot].text;
    section s = {0};
    bool found = false;
    while (at < end && !found) {
        if (!read_section(at, end, &s))
            stop(r, ORR_BAD_INPUT, st->line, "%s: is damaged; remake it with workloads/reference", path);
        found = of_this(r, st, &s);
        at = s.end;
    }
    if (!found) {
        stop(r, ORR_BAD_INPUT, st->line,
             "%s has nothing on buffer %s of size '%s'; remake it with workloads/reference", path, name,
             orr_script_size(r->s));
    }
    if (s.count != b->count || strcmp(s.type, orr_elem_name(b->type))) {
        stop(r, ORR_BAD_INPUT, st->line,
             "%s is for %s[%" PRIu64 "] and buffer %s is %s[%" PRIu64 "]; remake it with workloads/reference",
             path, s.type, s.count, name, orr_elem_name(b->type), b->count);
    }
    if (s.exact && !exact) {
        stop(r, ORR_BAD_INPUT, st->line,
             "%s was made when buffer %s had no tolerance; remake it with workloads/reference", path, name);
    }
    uint64_t per = chunk_elements(s.count, s.chunks), hash = 0;
    const char *line = s.body;
    char copy[300];
    place p = {.r = r, .st = st, .path = path, .type = b->type};
    for (uint64_t k = 0; k < s.chunks; k++) {
        chunk c;
        p.first = k * per;
        p.n = s.count - p.first < per ? s.count - p.first : per;
        condense(r, b, p.first, p.n, &c, st->line);
        hash = orr_mix64(hash ^ c.hash, 0);
        const char *next = line < s.end ? next_line(line, s.end) : line;
        size_t n = (size_t)(next - line);
        if (!n || n >= sizeof copy) damaged(&p);
        memcpy(copy, line, n);
        copy[n] = 0;
        line = next;
        if (s.exact)
            exact_chunk(&p, copy, &c);
        else
            near_chunk(&p, copy, &c, rtol, atol);
    }
    if (exact && hash != s.hash) {
        stop(r, ORR_PROGRAM_FAILED, st->line,
             "buffer %s: its hash is %016" PRIx64 " and should be %016" PRIx64, name, hash, s.hash);
    }
    free(r->file);
    r->file = NULL;
}
