// Building text: a growable string, JSON strings, numbers for people, and the word they may have meant.
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

static void reserve(orr_text *t, size_t n) { // room for n more bytes and the final 0
    if (n > SIZE_MAX / 4 || t->n > SIZE_MAX / 4) orr_malloc(SIZE_MAX);
    size_t need = t->n + n + 1;
    if (need <= t->cap) return;
    size_t cap = t->cap ? t->cap : 64;
    while (cap < need) cap *= 2;
    t->s = orr_realloc(t->s, cap);
    t->cap = cap;
}

void orr_text_addn(orr_text *t, const char *s, size_t n) {
    reserve(t, n);
    if (n) memcpy(t->s + t->n, s, n);
    t->n += n;
    t->s[t->n] = 0;
}

void orr_text_add(orr_text *t, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    reserve(t, n < 0 ? 0 : (size_t)n);
    t->s[t->n] = 0;
    if (n > 0) {
        vsnprintf(t->s + t->n, (size_t)n + 1, fmt, again);
        t->n += (size_t)n;
    }
    va_end(again);
}

// Length of the well-formed UTF-8 sequence at s (RFC 3629, section 4), 0 when it is not one.
// Reading stops at the terminating 0, which continues no sequence.
static size_t utf8_length(const unsigned char *s) {
    size_t n = s[0] < 0x80                   ? 1
               : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
               : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
               : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                             : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (s[0] == 0xe0 && s[1] < 0xa0) return 0; // longer than needed
    if (s[0] == 0xed && s[1] > 0x9f) return 0; // a surrogate
    if (s[0] == 0xf0 && s[1] < 0x90) return 0; // longer than needed
    if (s[0] == 0xf4 && s[1] > 0x8f) return 0; // past U+10FFFF
    return n;
}

void orr_text_json(orr_text *t, const char *s) {
    orr_text_addn(t, "\"", 1);
    for (const unsigned char *p = (const unsigned char *)s; *p;) {
        size_t n = utf8_length(p);
        if (n == 0) {
            orr_text_addn(t, "\\ufffd", 6); // names come from hostile files; the output stays JSON
            n = 1;
        } else if (*p == '"' || *p == '\\') {
            char two[2] = {'\\', (char)*p};
            orr_text_addn(t, two, 2);
        } else if (*p == '\n') {
            orr_text_addn(t, "\\n", 2);
        } else if (*p == '\t') {
            orr_text_addn(t, "\\t", 2);
        } else if (*p < 0x20 || *p == 0x7f) {
            orr_text_add(t, "\\u%04x", *p);
        } else {
            orr_text_addn(t, (const char *)p, n);
        }
        p += n;
    }
    orr_text_addn(t, "\"", 1);
}

const char *orr_commas(char buf[32], uint64_t v) {
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)v);
    char *out = buf;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0) *out++ = ',';
        *out++ = digits[i];
    }
    *out = 0;
    return buf;
}

// Three significant digits and a prefix. The limits are those where rounding to three digits would
// need a fourth.
const char *orr_si(char buf[32], double v) {
    static const char prefix[] = " kMGTPE";
    double size = v < 0 ? -v : v;
    int p = 0;
    while (size >= 999.5 && p < 6) {
        size /= 1000;
        v /= 1000;
        p++;
    }
    int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
    if (p == 0 && size == (double)(int)size) decimals = 0; // a plain count
    if (p)
        snprintf(buf, 32, "%.*f %c", decimals, v, prefix[p]);
    else
        snprintf(buf, 32, "%.*f", decimals, v);
    return buf;
}

// ---- the nearest word -----------------------------------------------------------------------
#define LONGEST_WORD 64

// Edits (insert, delete, replace, swap neighbours) that turn a into b.
static int edits(const char *a, const char *b) {
    int n = (int)strlen(a), m = (int)strlen(b);
    int d[3][LONGEST_WORD + 2];
    if (n > LONGEST_WORD || m > LONGEST_WORD) return 1000;
    for (int j = 0; j <= m; j++) d[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *row = d[i % 3], *up = d[(i + 2) % 3], *up2 = d[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int best = up[j - 1] + (a[i - 1] != b[j - 1]);
            if (up[j] + 1 < best) best = up[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && up2[j - 2] + 1 < best)
                best = up2[j - 2] + 1;
            row[j] = best;
        }
    }
    return d[n % 3][m];
}

void orr_consider(orr_nearest *n, const char *word) {
    size_t len = strlen(n->to);
    bool begins = len > 1 && strncmp(n->to, word, len) == 0; // "sgemm" for "sgemm_tiled"
    int d = begins ? 0 : edits(n->to, word);
    if (n->best && d >= n->edits) return;
    n->best = word;
    n->edits = d;
}

bool orr_is_near(const orr_nearest *n) {
    int len = (int)strlen(n->to);
    return n->best && n->edits <= 2 + len / 4 && 2 * n->edits <= len;
}

int orr_in_list(const char *list, uint64_t n) {
    int found = 0;
    for (const char *p = list;;) {
        char *end;
        if (*p < '0' || *p > '9') return -1;
        uint64_t from = strtoull(p, &end, 10), to = from;
        if (*end == '-') {
            p = end + 1;
            to = *p >= '0' && *p <= '9' ? strtoull(p, &end, 10) : UINT64_MAX;
            if (to == UINT64_MAX) end = (char *)(uintptr_t)p;
        }
        if (to < from) return -1;
        found |= n >= from && n <= to;
        if (!*end) return found;
        if (*end != ',') return -1;
        p = end + 1;
    }
}
