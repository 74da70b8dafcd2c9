// Pieces of the text reports (page.h).
#include "report/page.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *page_shape(char buf[48], const uint32_t d[3]) {
    if (d[2] != 1)
        snprintf(buf, 48, "%u x %u x %u", d[0], d[1], d[2]);
    else if (d[1] != 1)
        snprintf(buf, 48, "%u x %u", d[0], d[1]);
    else
        snprintf(buf, 48, "%u", d[0]);
    return buf;
}

const char *page_bytes(char buf[32], uint64_t v) {
    char n[32];
    snprintf(buf, 32, "%sB", orr_si(n, (double)v));
    if (!strchr(buf, ' ')) snprintf(buf, 32, "%llu B", (unsigned long long)v);
    return buf;
}

const char *page_time(char buf[32], double ns) {
    if (ns < 999.5)
        snprintf(buf, 32, "%.0f ns", ns);
    else if (ns < 999.5e3)
        snprintf(buf, 32, "%.2f us", ns * 1e-3);
    else if (ns < 999.5e6)
        snprintf(buf, 32, "%.2f ms", ns * 1e-6);
    else
        snprintf(buf, 32, "%.3f s", ns * 1e-9);
    return buf;
}

const char *page_name(char buf[120], const char *name) {
    char *written = orr_demangle(name);
    const char *s = written ? written : name;
    size_t n = strlen(s);
    bool cut = n > 119;
    if (cut) n = 116;
    for (size_t i = 0; i < n; i++) buf[i] = (unsigned char)s[i] < 32 || s[i] == 127 ? '?' : s[i];
    strcpy(buf + n, cut ? "..." : "");
    free(written);
    return buf;
}

const char *page_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void page_where(char to[64], const char *file, uint32_t line) {
    const char *base = page_base(file);
    size_t n = strlen(base);
    snprintf(to, 64, "%s:%u", n > 28 ? base + n - 28 : base, line);
}

// ---- source files -------------------------------------------------------------------------------
// A source file is looked for as the compiler named it, then beside the module. Only a regular file: the name
// is the module's, and reading a terminal or a pipe would wait for ever.
static char *read_regular(const char *path) {
    orr_err none = {0};
    size_t size;
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return NULL;
    return orr_read_file(path, 16u << 20, &size, &none);
}

static char *read_source(const char *name, const char *module) {
    char *text = read_regular(name);
    const char *slash = strrchr(module, '/');
    if (text || !module[0]) return text;
    orr_text path = {0};
    orr_text_addn(&path, module, slash ? (size_t)(slash - module) + 1 : 0);
    orr_text_add(&path, "%s", page_base(name));
    text = read_regular(path.s);
    free(path.s);
    return text;
}

static void cut_line(const char *text, uint32_t n, char to[64]) {
    if (!n) return;
    while (--n && text) {
        text = strchr(text, '\n');
        if (text) text++;
    }
    if (!text) return;
    while (*text == ' ' || *text == '\t') text++;
    size_t len = strcspn(text, "\r\n");
    while (len && (text[len - 1] == ' ' || text[len - 1] == '\t')) len--;
    bool cut = len > 56;
    if (cut) len = 53;
    for (size_t i = 0; i < len; i++) to[i] = (unsigned char)text[i] < 32 || text[i] == 127 ? ' ' : text[i];
    strcpy(to + len, cut ? "..." : "");
}

page_sources page_sources_of(const orr_module *m) {
    page_sources s = {.module = m && m->path ? m->path : ""};
    if (m) s.text_name = m->text_name, s.text = m->text;
    return s;
}

const char *page_source_text(page_sources *s, const char *file) {
    const char *module = s->module, *name = file ? file : module;
    if (s->text_name && !strcmp(name, s->text_name)) return s->text;
    size_t at = 0;
    while (at < s->at.n && s->at.at[at].name != name) at++;
    if (at == s->at.n) {
        struct page_source *new = ORR_PUSH(&s->at);
        new->name = name;
        new->text = read_source(name, module);
    }
    return s->at.at[at].text;
}

void page_source_line(page_sources *s, const char *file, uint32_t line, char to[64]) {
    to[0] = 0;
    if (!line) {
        strcpy(to, "(the compiler's own)"); // .loc with line 0
        return;
    }
    const char *text = page_source_text(s, file);
    if (text) cut_line(text, line, to);
}

void page_sources_free(page_sources *s) {
    for (size_t i = 0; i < s->at.n; i++) free(s->at.at[i].text);
    free(s->at.at);
    s->at.at = NULL;
    s->at.n = s->at.cap = 0;
}

void page_events(const page *p, enum orr_events events) {
    if (events == ORR_EVENTS_IN_TIME)
        orr_text_add(p->t, "  %-14s %14s   its threads see each other: executed as it was timed\n", "events",
                     "in time");
    if (events == ORR_EVENTS_ONE_ORDER)
        orr_text_add(p->t,
                     "  %-14s %14s   replayed in the order in which it was executed or recorded before\n",
                     "events", "one order");
}
