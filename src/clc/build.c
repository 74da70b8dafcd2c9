// From OpenCL C to bitcode, from bitcodes to PTX, from PTX to machine code.
//
// Compiling does not optimise: that is done when everything is linked, so that functions of the library are
// inlined. clang links bitcode into what it compiles, so linking is compiling an empty program
// (-mlink-bitcode-file for the program's own, -mlink-builtin-bitcode for libraries, of which only what is
// needed is taken).
#include "clc/clc.h"
#include "clc/tools.h"
#include "ptx/ptx.h"
#include "sass/module.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_BITCODE = 256 << 20 };
#define TEXT_NAME "program.cl" // what a text that is in no file is called

typedef struct build {
    orr_arena arena;
    clc_tools tools;
    const char *work; // the folder of its files
    clc_words words;
    orr_text log;
} build;

static bool begin(build *b, orr_err *e) {
    *b = (build){0};
    return clc_find_tools(&b->arena, &b->tools, e) && (b->work = clc_begin_work(&b->arena, e));
}

static void end(build *b) {
    clc_end_work(b->work);
    free(b->words.at);
    free(b->log.s);
    orr_arena_free(&b->arena);
}

static const char *file(build *b, const char *name) {
    return orr_arena_printf(&b->arena, "%s/%s", b->work, name);
}
static void word(build *b, const char *w) { *ORR_PUSH(&b->words) = w; }
static void words2(build *b, const char *w, const char *v) {
    word(b, w);
    word(b, v);
}

static int run(build *b, orr_err *e) {
    word(b, NULL);
    int status = clc_run(b->words.at, &b->log, e);
    b->words.n = 0;
    return status;
}

// ---- messages ---------------------------------------------------------------------------------------
// The program's text lies in a folder of ours, whose name would only confuse.
static char *without_folder(const char *log, const char *folder) {
    orr_text t = {0};
    size_t n = strlen(folder);
    orr_text_add(&t, "%s", "");
    for (const char *s = log; s && *s;) {
        if (!strncmp(s, folder, n) && s[n] == '/') {
            s += n + 1;
            continue;
        }
        orr_text_addn(&t, s++, 1);
    }
    return t.s;
}

// "k.cl:3:5: error: unknown type name 'flot'" to "k.cl:3: unknown type name 'flot'".
static bool say_first_error(const char *log, orr_err *e) {
    const char *mark = NULL;
    for (const char *line = log; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *stop = line + strcspn(line, "\n");
        mark = memmem(line, (size_t)(stop - line), "error: ", 7);
        if (!mark) continue;
        const char *where = mark;
        while (where > line && where[-1] == ' ') where--;
        size_t n = (size_t)(where - line);
        if (n > 6 && !memcmp(where - 6, " fatal", 6)) n -= 6;
        while (n && (line[n - 1] == ':' || line[n - 1] == ' ')) n--;
        size_t column = n;
        while (column && line[column - 1] >= '0' && line[column - 1] <= '9') column--;
        if (column && column < n && line[column - 1] == ':' && memchr(line, ':', column - 1)) n = column - 1;
        return orr_fail(e, ORR_BAD_INPUT, "%.*s%s%.*s", (int)(n < 300 ? n : 300), line, n ? ": " : "",
                        (int)(stop - mark - 7 < 500 ? stop - mark - 7 : 500), mark + 7);
    }
    return orr_fail(e, ORR_BAD_INPUT, "the OpenCL C compiler failed: %.300s",
                    log && *log ? log : "it says nothing");
}

// ---- compiling --------------------------------------------------------------------------------------
static bool write_headers(build *b, const orr_clc_source *s, orr_err *e) {
    for (uint32_t i = 0; i < s->nheaders; i++) {
        const char *name = s->headers[i].name;
        if (*name == '/' || strstr(name, "..") || strlen(name) > 1000)
            return orr_fail(e, ORR_BAD_INPUT, "\"%.60s\" cannot be the name of a header", name);
        char *path = orr_arena_printf(&b->arena, "%s/headers/%s", b->work, name);
        for (char *c = path + strlen(b->work) + 1; (c = strchr(c, '/')); *c++ = '/') {
            *c = 0;
            mkdir(path, 0700);
        }
        if (!clc_write(path, s->headers[i].text, s->headers[i].n, e)) return false;
    }
    return true;
}

static bool start_words(build *b, const orr_clc_source *s, orr_err *e) {
    orr_clc_options o;
    const char *prelude = file(b, "prelude.h");
    bool ok = orr_clc_parse_options(s->options, &b->arena, &o, e) &&
              clc_write(prelude, clc_prelude, strlen((const char *)clc_prelude), e) && write_headers(b, s, e);
    if (ok) {
        clc_common(&b->arena, &b->words, &b->tools, s->sm);
        word(b, orr_arena_printf(&b->arena, "-cl-std=%s", o.standard ? o.standard : "CL1.2"));
        word(b, "-cl-kernel-arg-info");
        word(b, "-gline-directives-only");
        word(b, orr_arena_printf(&b->arena, "-fdebug-prefix-map=%s=.", b->work));
        words2(b, "-include", prelude);
        if (s->nheaders) word(b, orr_arena_printf(&b->arena, "-I%s/headers", b->work));
        for (size_t i = 0; i < o.words.n; i++) word(b, o.words.at[i]);
    }
    free(o.words.at);
    return ok;
}

static const char *source_file(build *b, const orr_clc_source *s, orr_err *e) {
    if (s->path) return *s->path == '-' ? orr_arena_printf(&b->arena, "./%s", s->path) : s->path;
    const char *path = file(b, TEXT_NAME);
    return clc_write(path, s->text, s->n, e) ? path : NULL;
}

// Kernels that are called by others are inlined there: PTX knows no call of a kernel. clang says of kernels
// for this target that they must not be.
static bool inline_kernels(const char *path, char **ir, size_t *n, orr_err *e) {
    if (!memmem(*ir, *n, " call spir_kernel ", 18)) return true;
    orr_text t = {0};
    orr_text_add(&t, "%s", "");
    for (const char *s = *ir, *end = *ir + *n; s < end;) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        size_t len = stop ? (size_t)(stop - s) + 1 : (size_t)(end - s);
        const char *meta =
            !strncmp(s, "define ", 7) && memmem(s, len, "spir_kernel ", 12) ? memmem(s, len, " !", 2) : NULL;
        const char *never = !strncmp(s, "attributes #", 12) ? memmem(s, len, " noinline ", 10) : NULL;
        size_t head = meta ? (size_t)(meta - s) : never ? (size_t)(never - s) : len;
        orr_text_addn(&t, s, head);
        if (meta) orr_text_addn(&t, " alwaysinline", 13);
        if (never) head += 9;
        orr_text_addn(&t, s + head, len - head);
        s += len;
    }
    free(*ir);
    *ir = t.s;
    *n = t.n;
    return clc_write(path, t.s, t.n, e);
}

// LLVM's text that clang has written, and as bitcode.
static void take_object(build *b, const char *text, const char *bitcode, orr_clc_object *o, orr_err *e) {
    o->ir = orr_read_file(text, MAX_BITCODE, &o->nir, e);
    if (!o->ir || !inline_kernels(text, &o->ir, &o->nir, e)) return;
    o->kernels = orr_clc_read_kernels(o->ir, o->nir, &o->arena);
    words2(b, b->tools.clang, "-x");
    words2(b, "ir", "-c");
    words2(b, "-emit-llvm", "-Xclang");
    words2(b, "-disable-llvm-passes", text);
    words2(b, "-target", "nvptx64-nvidia-nvcl");
    words2(b, "-o", bitcode);
    b->log.n = 0;
    if (run(b, e) > 0) say_first_error(b->log.s, e);
    if (!e->status) o->bitcode = (uint8_t *)orr_read_file(bitcode, MAX_BITCODE, &o->n, e);
}

bool orr_clc_has_spirv(void) {
    orr_arena a = {0};
    bool there = clc_find_spirv(&a) != NULL;
    orr_arena_free(&a);
    return there;
}

// SPIR-V to LLVM's SPIR, that to text, that to NVPTX's.
static bool read_spirv(build *b, const orr_clc_source *s, const char *text, orr_err *e) {
    const char *tool = clc_find_spirv(&b->arena);
    const char *il = file(b, "in.spv"), *spir = file(b, "in.bc"), *plain = file(b, "in.ll");
    if (!tool)
        return orr_fail(
            e, ORR_BAD_INPUT,
            "SPIR-V is read by llvm-spirv, which is not here (Debian: llvm-spirv-14); install it, or "
            "name it in ORRERY_LLVM_SPIRV");
    if (!clc_write(il, s->il, s->nil, e)) return false;
    words2(b, tool, "-r");
    words2(b, "--spirv-target-env=CL1.2", il);
    words2(b, "-o", spir);
    int status = run(b, e);
    if (status)
        return e->status ? false
                         : orr_fail(e, ORR_BAD_INPUT, "%s cannot read the SPIR-V: %.300s", tool,
                                    b->log.s ? b->log.s : "it says nothing");
    words2(b, b->tools.clang, "-x");
    words2(b, "ir", "-S");
    words2(b, "-emit-llvm", "-Xclang");
    words2(b, "-disable-llvm-passes", spir);
    words2(b, "-target", "spir64");
    words2(b, "-w", "-Wno-override-module");
    words2(b, "-o", plain);
    b->log.n = 0;
    if (run(b, e)) return e->status ? false : say_first_error(b->log.s, e);
    size_t n, nout;
    char *ll = orr_read_file(plain, MAX_BITCODE, &n, e), *out = ll ? clc_from_spir(ll, n, &nout) : NULL;
    bool ok = out && clc_write(text, out, nout, e);
    free(ll);
    free(out);
    return ok;
}

static bool compile_spirv(const orr_clc_source *s, orr_clc_object *o, orr_err *e) {
    build b;
    if (begin(&b, e)) {
        const char *text = file(&b, "out.ll"), *bitcode = file(&b, "out.bc");
        if (read_spirv(&b, s, text, e)) take_object(&b, text, bitcode, o, e);
    }
    end(&b);
    o->log = strdup(e->status ? e->text : "");
    return !e->status;
}

bool orr_clc_compile(const orr_clc_source *s, orr_clc_object *o, orr_err *e) {
    *o = (orr_clc_object){0};
    if (s->il) return compile_spirv(s, o, e);
    build b;
    bool ok = begin(&b, e);
    const char *source = ok ? source_file(&b, s, e) : NULL;
    if (source && start_words(&b, s, e)) {
        const char *text = file(&b, "out.ll"), *bitcode = file(&b, "out.bc");
        words2(&b, "-Xclang", "-disable-llvm-passes");
        words2(&b, "-emit-llvm", "-S");
        words2(&b, source, "-o");
        word(&b, text);
        int status = run(&b, e);
        o->log = without_folder(b.log.s ? b.log.s : "", b.work);
        if (status > 0) say_first_error(o->log, e);
        if (!e->status) take_object(&b, text, bitcode, o, e);
    }
    end(&b);
    if (!o->log) o->log = strdup(e->text);
    return !e->status;
}

void orr_clc_object_free(orr_clc_object *o) {
    free(o->bitcode);
    free(o->ir);
    free(o->log);
    orr_arena_free(&o->arena);
    *o = (orr_clc_object){0};
}

char *orr_clc_tree(const orr_clc_source *s, char **file_name, size_t *bytes, orr_err *e) {
    build b;
    char *json = NULL;
    const char *source = begin(&b, e) ? source_file(&b, s, e) : NULL;
    if (source && start_words(&b, s, e)) {
        const char *out = file(&b, "tree.json");
        // The prelude is for the compiler that comes next; here the program is as it was written.
        for (size_t i = 0; i + 1 < b.words.n; i++)
            if (!strcmp(b.words.at[i], "-include")) {
                b.words.at[i] = "-w";
                b.words.at[i + 1] = "-w";
            }
        words2(&b, "-Xclang", "-ast-dump=json");
        words2(&b, "-fsyntax-only", source);
        *file_name = strdup(source);
        word(&b, NULL);
        const char *shell[] = {"/bin/sh", "-c", "out=$1; shift; exec \"$@\" >\"$out\"", "sh", out};
        clc_words all = {0};
        for (size_t i = 0; i < 5; i++) *ORR_PUSH(&all) = shell[i];
        for (size_t i = 0; i < b.words.n; i++) *ORR_PUSH(&all) = b.words.at[i];
        int status = clc_run(all.at, &b.log, e);
        free(all.at);
        if (status > 0) {
            char *log = without_folder(b.log.s, b.work);
            say_first_error(log, e);
            free(log);
        }
        if (!e->status) json = orr_read_file(out, (size_t)1 << 30, bytes, e);
    }
    end(&b);
    return json;
}

// ---- linking ----------------------------------------------------------------------------------------
static bool add_inputs(build *b, const orr_clc_bitcode *in, uint32_t n, orr_err *e) {
    for (uint32_t i = 0; i < n; i++) {
        const char *path = orr_arena_printf(&b->arena, "%s/%u.bc", b->work, i);
        if (!clc_write(path, in[i].at, in[i].n, e)) return false;
        words2(b, "-Xclang", "-mlink-bitcode-file");
        words2(b, "-Xclang", path);
    }
    const char *empty = file(b, "empty.cl");
    if (!clc_write(empty, "\n", 1, e)) return false;
    word(b, empty);
    return true;
}

// Labels for debug information that there is none of stand in the middle of calls; and of
// .file 1 "folder" "name" ptxas takes the name alone.
static size_t tidy(char *ptx, size_t n) {
    size_t to = 0;
    for (size_t at = 0; at < n;) {
        const char *stop = memchr(ptx + at, '\n', n - at);
        size_t line = stop ? (size_t)(stop - (ptx + at)) + 1 : n - at;
        char *folder = line > 8 && !memcmp(ptx + at, "\t.file\t", 7) ? memchr(ptx + at, '"', line) : NULL;
        char *close = folder ? memchr(folder + 1, '"', line - (size_t)(folder + 1 - (ptx + at))) : NULL;
        if (close && close[1] == ' ' && close[2] == '"') { // "folder" "name" is "folder/name"
            bool whole = close[3] == '/';
            size_t head = (size_t)((whole ? folder + 1 : close) - (ptx + at)),
                   skip = (size_t)(close + 3 - (ptx + at));
            memmove(ptx + to, ptx + at, head);
            to += head;
            if (!whole) ptx[to++] = '/';
            memmove(ptx + to, ptx + at + skip, line - skip);
            to += line - skip;
        } else if (strncmp(ptx + at, "$L__tmp", 7) != 0) {
            memmove(ptx + to, ptx + at, line);
            to += line;
        }
        at += line;
    }
    ptx[to] = 0;
    return to;
}

char *orr_clc_link(const orr_clc_bitcode *in, uint32_t n, unsigned sm, size_t *bytes, orr_err *e) {
    build b;
    char *ptx = NULL;
    const char *library = begin(&b, e) ? clc_device_library(&b.arena, &b.tools, b.work, e) : NULL;
    if (library) {
        const char *out = file(&b, "out.ptx");
        clc_common(&b.arena, &b.words, &b.tools, sm);
        words2(&b, "-cl-std=CL1.2", "-gline-directives-only");
        if (add_inputs(&b, in, n, e)) {
            words2(&b, "-Xclang", "-mlink-builtin-bitcode");
            words2(&b, "-Xclang", library);
            words2(&b, "-Xclang", "-mlink-builtin-bitcode");
            words2(&b, "-Xclang", b.tools.libclc);
            words2(&b, "-S", "-o");
            word(&b, out);
            if (run(&b, e) > 0) {
                char *log = without_folder(b.log.s, b.work);
                say_first_error(log, e);
                free(log);
            }
            if (!e->status) ptx = orr_read_file(out, MAX_BITCODE, bytes, e);
            if (ptx) *bytes = tidy(ptx, *bytes);
        }
    }
    end(&b);
    return ptx;
}

bool orr_clc_join(const orr_clc_bitcode *in, uint32_t n, orr_clc_object *o, orr_err *e) {
    build b;
    *o = (orr_clc_object){0};
    if (begin(&b, e)) {
        const char *text = file(&b, "out.ll"), *bitcode = file(&b, "out.bc");
        clc_common(&b.arena, &b.words, &b.tools, 0);
        words2(&b, "-Xclang", "-disable-llvm-passes");
        if (add_inputs(&b, in, n, e)) {
            words2(&b, "-emit-llvm", "-S");
            words2(&b, "-o", text);
            if (run(&b, e) > 0) say_first_error(b.log.s, e);
            if (!e->status) take_object(&b, text, bitcode, o, e);
        }
    }
    end(&b);
    return !e->status;
}

void orr_clc_keep_text(orr_module *m, const char *text, size_t n) {
    for (uint32_t f = 0; f < m->nfiles; f++) {
        const char *slash = strrchr(m->files[f], '/');
        if (strcmp(slash ? slash + 1 : m->files[f], TEXT_NAME) != 0) continue;
        m->text_name = m->files[f];
        m->text = orr_arena_printf(&m->arena, "%.*s", (int)n, text);
    }
}

bool orr_clc_constant_pointers(const char *ptx) { return strstr(ptx, ".ptr .const") != NULL; }

uint8_t *orr_clc_assemble(const char *ptx, size_t n, unsigned sm, size_t *bytes, orr_err *e) {
    build b = {0};
    uint8_t *cubin = NULL;
    const char *own = getenv("ORRERY_PTXAS");
    const char *usual =
        access("/usr/local/cuda/bin/ptxas", X_OK) == 0 ? "/usr/local/cuda/bin/ptxas" : "ptxas";
    b.work = clc_begin_work(&b.arena, e);
    const char *in = b.work ? file(&b, "in.ptx") : NULL, *out = b.work ? file(&b, "out.cubin") : NULL;
    if (in && clc_write(in, ptx, n, e)) {
        words2(&b, own && *own ? own : usual, "-lineinfo");
        words2(&b, orr_arena_printf(&b.arena, "-arch=sm_%u", sm ? sm : 90), in);
        words2(&b, "-o", out);
        int status = run(&b, e);
        if (status == 127 || status < 0) {
            *e = (orr_err){0};
            orr_fail(e, ORR_BAD_INPUT,
                     "--source sass needs ptxas of NVIDIA's CUDA toolkit, which is not here; "
                     "leave it out, or name it in ORRERY_PTXAS");
        } else if (status) {
            orr_fail(e, ORR_BAD_INPUT, "ptxas: %.300s", b.log.s ? b.log.s : "it failed");
        } else {
            cubin = (uint8_t *)orr_read_file(out, MAX_BITCODE, bytes, e);
        }
    }
    end(&b);
    return cubin;
}

// ---- a file -----------------------------------------------------------------------------------------
bool orr_clc_probe(const char *path) {
    size_t n = strlen(path);
    return n > 3 && !strcmp(path + n - 3, ".cl");
}

orr_module *orr_clc_open(const char *path, const char *options, unsigned sm, const char *source, orr_err *e) {
    orr_clc_source s = {.path = path, .options = options, .sm = sm};
    orr_clc_object o;
    orr_module *m = NULL;
    if (access(path, R_OK) != 0) {
        orr_fail(e, ORR_BAD_INPUT, "%s: there is no such file, or it cannot be read", path);
        return NULL;
    }
    size_t n, ncubin;
    char *ptx = NULL;
    if (orr_clc_compile(&s, &o, e)) ptx = orr_clc_link(&(orr_clc_bitcode){o.bitcode, o.n}, 1, sm, &n, e);
    if (ptx && source && !strcmp(source, "sass") && orr_clc_constant_pointers(ptx)) {
        orr_fail(e, ORR_BAD_INPUT,
                 "%s: a kernel takes a pointer to __constant memory, which machine code wants in "
                 "a constant bank that nobody fills here; leave out --source sass",
                 path);
    } else if (ptx && source && !strcmp(source, "sass")) {
        uint8_t *cubin = orr_clc_assemble(ptx, n, sm, &ncubin, e);
        if (cubin) m = orr_sass_read(cubin, ncubin, path, sm, e);
        free(cubin);
    } else if (ptx) {
        m = orr_ptx_parse(path, ptx, n, e);
    }
    free(ptx);
    orr_clc_object_free(&o);
    return m;
}
