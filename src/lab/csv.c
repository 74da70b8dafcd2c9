// Comma-separated values, as RFC 4180 has them: what Nsight Compute writes and what hardware/ holds.
#include "lab/lab.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CELLS 8192 // of a row

void orr_csv_open(orr_csv *c, const char *path, char *text, size_t n) {
    *c = (orr_csv){.path = path, .at = text, .end = text + n, .next_line = 1};
    if (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) c->at += 3; // a byte order mark
}

void orr_csv_close(orr_csv *c) { free(c->cells.at); }

// A cell in quotes, from behind the first: moves its text to the front. What ends it, or NULL.
static char *unquote(orr_csv *c, char *from) {
    char *to = from;
    for (char *p = from; p < c->end; p++) {
        if (*p == '"' && p[1] == '"') {
            p++;
        } else if (*p == '"') {
            char *behind = p + 1;
            *to = 0;
            return behind;
        }
        if (*p == '\n') c->next_line++;
        *to++ = *p;
    }
    return NULL;
}

bool orr_csv_row(orr_csv *c, orr_err *e) {
    c->cells.n = 0;
    // Empty lines and remarks are between rows.
    while (c->at < c->end && (*c->at == '\n' || *c->at == '\r' || *c->at == '#')) {
        char *eol = memchr(c->at, '\n', (size_t)(c->end - c->at));
        c->at = eol ? eol + 1 : c->end;
        c->next_line++;
    }
    if (c->at >= c->end) return false;
    c->line = c->next_line;
    for (;;) {
        if (c->cells.n >= MOST_CELLS)
            return orr_fail(e, ORR_BAD_INPUT, "%s:%d: a row has more than %d cells", c->path, c->line,
                            MOST_CELLS);
        char *cell = c->at, *p;
        if (*cell == '"') {
            cell++;
            p = unquote(c, cell);
            if (!p) return orr_fail(e, ORR_BAD_INPUT, "%s:%d: a quote is not closed", c->path, c->line);
            if (p < c->end && *p != ',' && *p != '\n' && *p != '\r')
                return orr_fail(e, ORR_BAD_INPUT, "%s:%d: text after a closed quote", c->path, c->line);
        } else {
            p = cell;
            while (p < c->end && *p != ',' && *p != '\n' && *p != '\r') p++;
        }
        char stop = p < c->end ? *p : '\n';
        if (p < c->end) *p = 0;
        *ORR_PUSH(&c->cells) = cell;
        c->at = p < c->end ? p + 1 : p;
        if (stop == ',') {
            if (c->at >= c->end) { // the last cell is empty: what is behind the text is a 0
                *ORR_PUSH(&c->cells) = c->end;
                return true;
            }
            continue;
        }
        if (stop == '\r' && c->at < c->end && *c->at == '\n') c->at++;
        c->next_line++;
        return true;
    }
}

int orr_csv_find(const orr_csv *c, const char *name) {
    for (size_t i = 0; i < c->cells.n; i++)
        if (!strcmp(c->cells.at[i], name)) return (int)i;
    return -1;
}

void orr_csv_add(orr_text *t, const char *cell) {
    if (!cell[strcspn(cell, ",\"\r\n#")]) {
        orr_text_addn(t, cell, strlen(cell));
        return;
    }
    orr_text_addn(t, "\"", 1);
    for (const char *p = cell; *p; p++) orr_text_addn(t, *p == '"' ? "\"\"" : p, *p == '"' ? 2 : 1);
    orr_text_addn(t, "\"", 1);
}

bool orr_csv_number(const char *cell, double *v) {
    char plain[64];
    size_t n = 0;
    for (; *cell == ' '; cell++) {}
    if (!(*cell >= '0' && *cell <= '9') && *cell != '-' && *cell != '+' && *cell != '.')
        return false; // nan, inf
    for (const char *p = cell; *p; p++) {
        if (*p == ',') continue;
        if (n + 1 >= sizeof plain) return false;
        plain[n++] = *p;
    }
    while (n && plain[n - 1] == ' ') n--;
    plain[n] = 0;
    char *end;
    if (plain[strspn(plain, "0123456789.eE+-")]) return false; // no 0x12, no 1e5f
    *v = strtod(plain, &end);
    return end != plain && !*end && isfinite(*v);
}

bool orr_csv_uint(const char *cell, uint32_t *v) {
    double d;
    if (!orr_csv_number(cell, &d) || d < 0 || d > UINT32_MAX || d != floor(d)) return false;
    *v = (uint32_t)d;
    return true;
}

bool orr_csv_shape(const char *cell, uint32_t d[3]) {
    int n = 0;
    const char *p = cell;
    d[0] = d[1] = d[2] = 1;
    while (*p == '(' || *p == ' ') p++;
    for (;;) {
        char *end;
        if (*p < '0' || *p > '9' || n == 3) return false;
        errno = 0;
        unsigned long v = strtoul(p, &end, 10);
        if (errno || v > UINT32_MAX || !v) return false;
        d[n++] = (uint32_t)v;
        p = end;
        while (*p == ' ') p++;
        if (*p != ',' && *p != 'x') break;
        p++;
        while (*p == ' ') p++;
    }
    if (*p == ')') p++;
    return !*p;
}

// Read back and written again it is the same text.
void orr_csv_add_number(orr_text *t, double v) {
    char digits[40];
    if (isnan(v)) return;
    snprintf(digits, sizeof digits, "%.15g", v);
    v = strtod(digits, NULL);
    if (v == floor(v) && fabs(v) < 9e15)
        orr_text_add(t, "%.0f", v);
    else
        orr_text_add(t, "%s", digits);
}
