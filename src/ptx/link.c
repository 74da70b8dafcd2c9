// Linking: the statements of several PTX files, one after the other, with names made to fit.
//
// A module's statement is a directive, a variable, or a function. Which name is whose follows from its
// linkage (PTX ISA, "Linking Directives"):
//
//   .visible          one file defines it; a second definition is an error
//   .weak, .common    several may define it; the .visible one counts, else the first. The others become
//                     declarations (.extern)
//   .extern           another file defines it
//   nothing           the file's own: where two files have one of the same name, or another's is visible, it
//                     gets a number behind it wherever its file names it
//
// Files are looked through twice: for the names they declare, and to write them. Which bytes are names is the
// lexer's business; everything else is copied as it stands.
#include "ptx/link.h"
#include "ptx/ast.h"

#include <stdlib.h>
#include <string.h>

enum { OWN = 1 << 7 }; // beside LINK_*: declared by this file for itself

typedef struct known { // what is called by a name
    size_t strong;     // file that defines it for all, + 1; 0: none
    size_t weak;       // the first file that defines it weakly, + 1
    size_t own;        // the first file that has it for itself, + 1
} known;

typedef struct statement {
    const char *from, *body, *end; // body: where its text as a declaration ends
    token name;
    uint8_t linkage;
    bool named, defines;
} statement;

typedef struct linker {
    const orr_ptx_file *files;
    orr_map names; // to known, of all files
    orr_arena arena;
    uint32_t version; // the newest of theirs
    ptx_slice version_text, target;
    orr_text *out;
    orr_err *e;
} linker;

// ---- one statement ----------------------------------------------------------------------------------------
static uint8_t linkage_of(ptx_parser *p) {
    uint8_t linkage = 0;
    for (;; ptx_next(p)) {
        if (ptx_is_dot(p, "visible"))
            linkage |= LINK_VISIBLE;
        else if (ptx_is_dot(p, "extern"))
            linkage |= LINK_EXTERN;
        else if (ptx_is_dot(p, "weak"))
            linkage |= LINK_WEAK;
        else if (ptx_is_dot(p, "common"))
            linkage |= LINK_COMMON;
        else
            return linkage;
    }
}

// Up to the end of braces, brackets or parentheses, of which the current token opens one.
static void nested(ptx_parser *p) {
    uint32_t open = 0, line = p->t.line;
    do {
        if (p->t.kind == T_EOF) ptx_error(p, line, "this is never closed");
        if (ptx_is(p, '{') || ptx_is(p, '(') || ptx_is(p, '[')) open++;
        if (ptx_is(p, '}') || ptx_is(p, ')') || ptx_is(p, ']')) open--;
        ptx_next(p);
    } while (open);
}

// A function's header, and its body when it has one; a variable, and what it begins with.
static void declaration(ptx_parser *p, statement *s) {
    bool function = ptx_is_dot(p, "func") || ptx_is_dot(p, "entry"), value = false;
    if (ptx_is_dot(p, "entry")) s->linkage |= LINK_VISIBLE; // programs ask for kernels by name
    s->defines = !function && !(s->linkage & LINK_EXTERN);
    ptx_next(p);
    for (; !ptx_is(p, ';'); s->body = value ? s->body : p->last) {
        if (p->t.kind == T_EOF) ptx_unexpected(p, "';'");
        if (p->t.kind == T_NAME && !value) {
            if (!s->named) s->name = p->t;
            s->named = true;
            ptx_next(p);
        } else if (function && ptx_is(p, '{')) {
            s->defines = true;
            nested(p);
            s->end = p->last;
            return;
        } else if (ptx_is(p, '{') || ptx_is(p, '(') || ptx_is(p, '[')) {
            nested(p);
        } else {
            if (!function && ptx_is(p, '=')) value = true;
            if (!function && ptx_is(p, ',') && !value && s->named)
                ptx_error(p, p->t.line, "several variables in one declaration cannot be linked");
            ptx_next(p);
        }
    }
    ptx_next(p);
    s->end = p->last;
}

// .version, .target: kept, for the head of the result. .section has a body, others are one line or a
// statement.
static void other(linker *l, ptx_parser *p, statement *s) {
    uint32_t line = p->t.line;
    if (ptx_accept_dot(p, "version")) {
        ptx_slice text = {p->t.s, p->t.n};
        char own[16] = {0};
        memcpy(own, text.s, text.n < sizeof own ? text.n : sizeof own - 1);
        char *dot = strchr(own, '.');
        uint32_t version = (uint32_t)(atoi(own) * 100 + (dot ? atoi(dot + 1) : 0));
        bool newer = version > l->version;
        ptx_next(p);
        p->m->version = version;
        if (newer) l->version = version, l->version_text = text, l->target = (ptx_slice){0};
    } else if (ptx_accept_dot(p, "target")) {
        const char *from = ptx_start(&p->t);
        do ptx_expect_name(p, "a target such as sm_90");
        while (ptx_accept(p, ','));
        if (!l->target.n) l->target = ptx_since(p, from);
    } else if (ptx_accept_dot(p, "address_size")) {
        ptx_next(p);
    } else if (ptx_accept_dot(p, "section")) {
        while (!ptx_is(p, '{')) {
            if (p->t.kind == T_EOF) ptx_error(p, line, "this section has no body");
            ptx_next(p);
        }
        nested(p);
    } else {
        do ptx_next(p);
        while (p->t.kind != T_EOF && p->t.kind != T_DOT && !ptx_is(p, ';'));
        ptx_accept(p, ';');
        s->end = p->last;
        return;
    }
    s->end = s->from; // nothing of it is written here
}

static bool statement_next(linker *l, ptx_parser *p, statement *s) {
    while (ptx_accept(p, ';')) continue;
    if (p->t.kind == T_EOF) return false;
    if (p->t.kind != T_DOT) ptx_unexpected(p, "a directive");
    *s = (statement){.from = ptx_start(&p->t)};
    s->linkage = linkage_of(p);
    if (ptx_is_dot(p, "func") || ptx_is_dot(p, "entry") || ptx_is_space(p)) {
        const char *from = ptx_start(&p->t);
        declaration(p, s);
        if (!s->named) ptx_error(p, p->t.line, "a declaration without a name");
        if (!s->linkage) s->linkage = OWN;
        if (s->body < from) s->body = s->end;
    } else if (s->linkage) {
        ptx_unexpected(p, "a function or a variable");
    } else {
        other(l, p, s);
    }
    return true;
}

// ---- which name is whose --------------------------------------------------------------------------------
static known *known_of(linker *l, token name) {
    known *k = orr_map_getn(&l->names, name.s, name.n);
    if (k) return k;
    k = orr_arena_alloc(&l->arena, sizeof *k);
    *k = (known){0};
    orr_map_putn(&l->names, name.s, name.n, k);
    return k;
}

static void learn(linker *l, ptx_parser *p, const statement *s, size_t file) {
    known *k = known_of(l, s->name);
    if (s->linkage & OWN) {
        if (!k->own) k->own = file;
    } else if (!s->defines || (s->linkage & LINK_EXTERN)) {
        return;
    } else if (s->linkage & (LINK_WEAK | LINK_COMMON)) {
        if (!k->weak) k->weak = file;
    } else if (k->strong && k->strong != file) {
        ptx_error(p, s->name.line, "'%.*s' is defined in %.100s too; link only one of them",
                  s->name.n > 200 ? 200 : (int)s->name.n, s->name.s, l->files[k->strong - 1].name);
    } else {
        k->strong = file;
    }
}

// Does this file's own thing of that name need another one?
static bool renamed(const known *k, size_t file) {
    return k->strong || k->weak || (k->own && k->own != file);
}

// ---- writing --------------------------------------------------------------------------------------------
// What stands from here to there, with the names that are renamed.
static void copy(linker *l, ptx_parser *p, orr_map *own, const char *from, const char *end, size_t file) {
    p->at = from;
    p->end = end;
    p->ahead.read = false;
    const char *done = from;
    for (ptx_next(p); p->t.kind != T_EOF; ptx_next(p)) {
        if (p->t.kind != T_NAME || !orr_map_getn(own, p->t.s, p->t.n)) continue;
        orr_text_addn(l->out, done, (size_t)(p->t.s + p->t.n - done));
        orr_text_add(l->out, "$file%zu", file);
        done = p->t.s + p->t.n;
    }
    orr_text_addn(l->out, done, (size_t)(end - done));
}

static void write_statement(linker *l, ptx_parser *p, orr_map *own, const statement *s, size_t file) {
    const char *from = s->from, *end = s->end;
    bool declared = false;
    if (s->named && s->defines && (s->linkage & (LINK_WEAK | LINK_COMMON))) {
        const known *k = known_of(l, s->name);
        declared = k->strong || k->weak != file;
    }
    if (declared) {
        orr_text_add(l->out, ".extern ");
        end = s->body;
        for (const char *dot = from; (dot = memchr(dot, '.', (size_t)(end - dot))); from = dot) {
            if (strncmp(dot, ".weak", 5) != 0 && strncmp(dot, ".common", 7) != 0) break;
            dot += dot[1] == 'w' ? 5 : 7;
        }
    }
    copy(l, p, own, from, end, file);
    orr_text_add(l->out, declared ? ";\n" : "\n");
}

// ---- the files ----------------------------------------------------------------------------------
typedef struct reading { // a parser that only lexes
    ptx_parser p;
    orr_module m;
    ptx_front f;
    ORR_VEC(statement) statements;
    orr_map own; // names of the file's own that are renamed
} reading;

static bool read_file(linker *l, reading *r, size_t i) {
    const orr_ptx_file *file = &l->files[i];
    ptx_parser *p = &r->p;
    r->m.path = file->name;
    r->f.text = orr_malloc(file->n + 1);
    if (file->n) memcpy(r->f.text, file->text, file->n);
    r->f.text[file->n] = 0;
    p->m = &r->m;
    p->f = &r->f;
    p->e = l->e;
    p->at = r->f.text;
    p->end = p->at + file->n;
    p->line = 1;
    if (setjmp(p->fail)) return false;
    ptx_next(p);
    for (statement s; statement_next(l, p, &s);) {
        if (s.named) learn(l, p, &s, i + 1);
        *ORR_PUSH(&r->statements) = s;
    }
    if (!r->m.version) ptx_error(p, 1, "this is not PTX: it has no .version");
    return true;
}

static void find_own(linker *l, reading *r, size_t file) {
    for (size_t i = 0; i < r->statements.n; i++) {
        const statement *s = &r->statements.at[i];
        if (s->named && (s->linkage & OWN) && renamed(known_of(l, s->name), file))
            orr_map_putn(&r->own, s->name.s, s->name.n, r);
    }
}

static bool write_file(linker *l, reading *r, size_t file) {
    if (setjmp(r->p.fail)) return false;
    for (size_t i = 0; i < r->statements.n; i++)
        write_statement(l, &r->p, &r->own, &r->statements.at[i], file);
    return true;
}

static void reading_free(reading *r) {
    orr_map_free(&r->own);
    free(r->statements.at);
    free(r->f.text);
}

bool orr_ptx_link(const orr_ptx_file *files, size_t n, orr_text *out, orr_err *e) {
    linker l = {.files = files, .out = out, .e = e};
    size_t all = 0;
    reading *r = orr_calloc(n ? n : 1, sizeof *r);
    bool ok = n > 0 || orr_fail(e, ORR_BAD_INPUT, "there is nothing to link");
    for (size_t i = 0; i < n && ok; i++) {
        ok = files[i].n <= MAX_TEXT - all ||
             orr_fail(e, ORR_BAD_INPUT, "%.200s: more than 1 GiB of PTX to link", files[i].name);
        all += files[i].n;
        ok = ok && read_file(&l, &r[i], i);
    }
    if (ok) {
        orr_text_add(out, ".version %.*s\n", (int)l.version_text.n, l.version_text.s);
        orr_text_add(out, ".target %.*s\n.address_size 64\n", (int)l.target.n, l.target.s);
    }
    for (size_t i = 0; i < n && ok; i++) find_own(&l, &r[i], i + 1);
    for (size_t i = 0; i < n && ok; i++) ok = write_file(&l, &r[i], i + 1);
    for (size_t i = 0; i < n; i++) reading_free(&r[i]);
    free(r);
    orr_map_free(&l.names);
    orr_arena_free(&l.arena);
    return ok;
}
