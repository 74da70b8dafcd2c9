// Programs: from source or from a binary of ours, compiled and linked by src/clc, then a module like those of
// CUDA programs.
#include "opencl/functions.h"

#include <stdlib.h>
#include <string.h>

#define SET_ERROR(p, v)                                                                                      \
    do {                                                                                                     \
        if (p) *(p) = (v);                                                                                   \
    } while (0)

static unsigned sm(void) { return (unsigned)(the_app.gpu->cc_major * 10 + the_app.gpu->cc_minor); }

static cl_program new_program(cl_context c) {
    cl_program p = cl_new(sizeof *p, KIND_PROGRAM);
    p->context = c;
    p->status = CL_BUILD_NONE;
    p->type = CL_PROGRAM_BINARY_TYPE_NONE;
    c->head.refs++;
    return p;
}

// ---- making -----------------------------------------------------------------------------------------
cl_program cl_clCreateProgramWithSource(cl_context c, cl_uint n, const char **texts, const size_t *lengths,
                                        cl_int *error) {
    cl_int bad = !cl_is(c, KIND_CONTEXT) ? CL_INVALID_CONTEXT : !n || !texts ? CL_INVALID_VALUE : CL_SUCCESS;
    for (cl_uint i = 0; i < n && !bad; i++)
        if (!texts[i]) bad = CL_INVALID_VALUE;
    SET_ERROR(error, bad);
    if (bad) return NULL;
    orr_text all = {0};
    orr_text_add(&all, "%s", "");
    for (cl_uint i = 0; i < n; i++)
        orr_text_addn(&all, texts[i], lengths && lengths[i] ? lengths[i] : strlen(texts[i]));
    cl_lock();
    cl_program p = new_program(c);
    p->source = all.s;
    p->nsource = all.n;
    cl_unlock();
    return p;
}

static bool take_binary(cl_program p, const void *bytes, size_t n) {
    orr_clc_binary b;
    if (!orr_clc_read_binary(bytes, n, &b)) return false;
    p->from_binary = true;
    p->type = b.type;
    p->object.bitcode = orr_malloc(b.nbitcode + 1);
    memcpy(p->object.bitcode, b.bitcode, b.nbitcode);
    p->object.n = b.nbitcode;
    p->ir = orr_calloc(1, b.nir + 1);
    memcpy(p->ir, b.ir, b.nir);
    p->nir = b.nir;
    p->object.kernels = orr_clc_read_kernels(p->ir, p->nir, &p->object.arena);
    p->options = orr_calloc(1, b.noptions + 1);
    memcpy(p->options, b.options, b.noptions);
    p->lists_info = true;
    return true;
}

cl_program cl_clCreateProgramWithBinary(cl_context c, cl_uint n, const cl_device_id *devices,
                                        const size_t *lengths, const unsigned char **binaries,
                                        cl_int *statuses, cl_int *error) {
    cl_int bad = !cl_is(c, KIND_CONTEXT)                   ? CL_INVALID_CONTEXT
                 : !n || !devices || !lengths || !binaries ? CL_INVALID_VALUE
                 : !cl_same_device(n, devices)             ? CL_INVALID_DEVICE
                 : !lengths[0] || !binaries[0]             ? CL_INVALID_VALUE
                                                           : CL_SUCCESS;
    if (bad == CL_INVALID_VALUE && statuses && n) statuses[0] = CL_INVALID_VALUE;
    cl_program p = NULL;
    if (!bad) {
        cl_lock();
        p = new_program(c);
        if (!take_binary(p, binaries[0], lengths[0])) {
            bad = CL_INVALID_BINARY;
            cl_drop_program(p);
            p = NULL;
        }
        if (statuses) statuses[0] = bad;
        cl_unlock();
    }
    SET_ERROR(error, bad);
    return p;
}

cl_program cl_clCreateProgramWithBuiltInKernels(cl_context c, cl_uint n, const cl_device_id *devices,
                                                const char *names, cl_int *error) {
    (void)n, (void)devices, (void)names;
    SET_ERROR(error, cl_is(c, KIND_CONTEXT) ? CL_INVALID_VALUE : CL_INVALID_CONTEXT);
    return NULL;
}
cl_program cl_clCreateProgramWithIL(cl_context c, const void *il, size_t n, cl_int *error) {
    cl_int bad = !cl_is(c, KIND_CONTEXT)                 ? CL_INVALID_CONTEXT
                 : !orr_clc_has_spirv()                  ? CL_INVALID_OPERATION
                 : !il || !n || !orr_clc_is_spirv(il, n) ? CL_INVALID_VALUE
                                                         : CL_SUCCESS;
    SET_ERROR(error, bad);
    if (bad) return NULL;
    cl_lock();
    cl_program p = new_program(c);
    p->il = orr_malloc(n);
    memcpy(p->il, il, n);
    p->nil = n;
    p->words = orr_clc_spirv_words(il, n);
    cl_unlock();
    return p;
}

cl_int cl_clSetProgramSpecializationConstant(cl_program p, cl_uint id, size_t n, const void *v) {
    if (!cl_is(p, KIND_PROGRAM) || !p->words) return CL_INVALID_PROGRAM;
    cl_lock();
    size_t bytes = orr_clc_special_bytes(p->words, p->nil, id);
    cl_int error = !bytes ? CL_INVALID_SPEC_ID : n != bytes || !v ? CL_INVALID_VALUE : CL_SUCCESS;
    if (!error) orr_clc_specialize(p->words, p->nil, id, v);
    cl_unlock();
    return error;
}

cl_int cl_clRetainProgram(cl_program p) {
    if (!cl_is(p, KIND_PROGRAM)) return CL_INVALID_PROGRAM;
    cl_lock();
    p->head.refs++;
    cl_unlock();
    return CL_SUCCESS;
}

static void unload(cl_program p) {
    if (p->module) app_module_close(p->module); // its kernels' names stay, the report has them
    p->module = NULL;
}

void cl_drop_program(cl_program p) {
    if (--p->head.refs) return;
    cl_call_destroyed(p->callbacks, p);
    unload(p);
    orr_clc_object_free(&p->object);
    free(p->source);
    free(p->il);
    free(p->words);
    free(p->ir);
    free(p->options);
    free(p->log);
    cl_drop_context(p->context);
    p->head.kind = 0;
    free(p);
}

cl_int cl_clReleaseProgram(cl_program p) {
    if (!cl_is(p, KIND_PROGRAM)) return CL_INVALID_PROGRAM;
    cl_lock();
    cl_drop_program(p);
    cl_unlock();
    return CL_SUCCESS;
}

cl_int cl_clSetProgramReleaseCallback(cl_program p, void(CL_CALLBACK *call)(cl_program, void *), void *user) {
    (void)call, (void)user;
    return cl_is(p, KIND_PROGRAM) ? CL_INVALID_OPERATION : CL_INVALID_PROGRAM;
}

// ---- building ---------------------------------------------------------------------------------------
static void set_text(char **to, const char *s) {
    free(*to);
    *to = strdup(s ? s : "");
}

static cl_int fail(cl_program p, const orr_err *e, cl_int error) {
    p->status = CL_BUILD_ERROR;
    if (!p->log || !*p->log) set_text(&p->log, e->text);
    return error;
}

static cl_int compile(cl_program p, const char *options, const orr_clc_header *headers, cl_uint nheaders,
                      cl_int error) {
    orr_err e = {0};
    orr_clc_object o;
    orr_clc_options parsed;
    orr_arena a = {0};
    set_text(&p->options, options);
    bool known = orr_clc_parse_options(options, &a, &parsed, &e);
    p->lists_info = known && parsed.lists_info;
    free(parsed.words.at);
    orr_arena_free(&a);
    set_text(&p->log, "");
    if (!known)
        return fail(p, &e,
                    error == CL_BUILD_PROGRAM_FAILURE ? CL_INVALID_BUILD_OPTIONS
                                                      : CL_INVALID_COMPILER_OPTIONS);
    orr_clc_source s = {.text = p->source,
                        .n = p->nsource,
                        .options = options,
                        .headers = headers,
                        .nheaders = nheaders,
                        .sm = sm(),
                        .il = p->words,
                        .nil = p->nil};
    bool ok = orr_clc_compile(&s, &o, &e);
    set_text(&p->log, o.log);
    if (ok) {
        orr_clc_object_free(&p->object);
        free(p->ir);
        p->object = o;
        p->ir = o.ir;
        p->nir = o.nir;
        p->object.ir = NULL;
        p->type = CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT;
        return CL_SUCCESS;
    }
    orr_clc_object_free(&o);
    return fail(p, &e, error);
}

// With --source sass the PTX becomes machine code, as ptxas makes it; what was PTX is freed then.
static bool assemble(char **code, size_t *bytes, const char *name, orr_err *e) {
    if (!the_app.asked.source || strcmp(the_app.asked.source, "sass") != 0) return true;
    if (orr_clc_constant_pointers(*code)) {
        app_say("%s runs from PTX: a kernel of it takes a pointer to __constant memory, which machine code "
                "wants in a constant bank that nobody fills here",
                name);
        return true;
    }
    char *ptx = *code;
    *code = (char *)orr_clc_assemble(ptx, *bytes, sm(), bytes, e);
    free(ptx);
    return *code != NULL;
}

// Every kernel is loaded, so that one which calls a function that is nowhere fails here.
static cl_int load(cl_program p, const orr_clc_bitcode *in, cl_uint n, cl_int failure) {
    static unsigned count;
    orr_err e = {0};
    size_t bytes;
    char name[40];
    snprintf(name, sizeof name, "program %u", ++count);
    char *code = orr_clc_link(in, n, sm(), &bytes, &e);
    if (!code || !assemble(&code, &bytes, name, &e)) return fail(p, &e, failure);
    int error;
    unload(p);
    p->module = app_module_open(code, bytes, name, &error); // keeps no pointer into it
    free(code);
    if (error) {
        orr_fail(&e, ORR_BAD_INPUT, "the compiled program cannot be read");
        return fail(p, &e, failure);
    }
    for (uint32_t i = 0; i < p->module->module->nkernels; i++)
        if (!p->module->module->load(p->module->module, p->module->module->kernel_names[i], &e))
            return fail(p, &e, failure);
    if (p->source) orr_clc_keep_text(p->module->module, p->source, p->nsource);
    p->type = CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
    p->status = CL_BUILD_SUCCESS;
    return CL_SUCCESS;
}

static cl_int check_build(cl_program p, cl_uint n, const cl_device_id *devices, const void *notify,
                          const void *user) {
    if (!cl_is(p, KIND_PROGRAM)) return CL_INVALID_PROGRAM;
    if (!n != !devices || (!notify && user)) return CL_INVALID_VALUE;
    if (!cl_same_device(n, devices)) return CL_INVALID_DEVICE;
    return p->nkernels ? CL_INVALID_OPERATION : CL_SUCCESS;
}

cl_int cl_clBuildProgram(cl_program p, cl_uint n, const cl_device_id *devices, const char *options,
                         void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
    cl_int error = check_build(p, n, devices, (void *)(uintptr_t)notify, user);
    if (error) return error;
    cl_lock();
    if (p->source || p->il) error = compile(p, options, NULL, 0, CL_BUILD_PROGRAM_FAILURE);
    orr_clc_bitcode in = {p->object.bitcode, p->object.n};
    if (!error && !in.at) error = CL_INVALID_OPERATION;
    if (!error && p->from_binary && p->type != CL_PROGRAM_BINARY_TYPE_EXECUTABLE)
        error = CL_INVALID_OPERATION;
    if (!error) error = load(p, &in, 1, CL_BUILD_PROGRAM_FAILURE);
    cl_unlock();
    if (notify) notify(p, user);
    return error;
}

cl_int cl_clCompileProgram(cl_program p, cl_uint n, const cl_device_id *devices, const char *options,
                           cl_uint nheaders, const cl_program *programs, const char **names,
                           void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
    cl_int error = check_build(p, n, devices, (void *)(uintptr_t)notify, user);
    if (error) return error;
    if (!nheaders != !programs || !nheaders != !names) return CL_INVALID_VALUE;
    if (!p->source && !p->il) return CL_INVALID_OPERATION;
    cl_lock();
    orr_clc_header *headers = orr_calloc(nheaders + 1, sizeof *headers);
    for (cl_uint i = 0; i < nheaders && !error; i++) {
        if (!cl_is(programs[i], KIND_PROGRAM) || !programs[i]->source || !names[i])
            error = CL_INVALID_PROGRAM;
        else
            headers[i] = (orr_clc_header){names[i], programs[i]->source, programs[i]->nsource};
    }
    if (!error) error = compile(p, options, headers, nheaders, CL_COMPILE_PROGRAM_FAILURE);
    if (!error) p->status = CL_BUILD_SUCCESS;
    free(headers);
    cl_unlock();
    if (notify) notify(p, user);
    return error;
}

cl_program cl_clLinkProgram(cl_context c, cl_uint n, const cl_device_id *devices, const char *options,
                            cl_uint nin, const cl_program *in, void(CL_CALLBACK *notify)(cl_program, void *),
                            void *user, cl_int *error) {
    cl_int bad = !cl_is(c, KIND_CONTEXT)                              ? CL_INVALID_CONTEXT
                 : !n != !devices || (!notify && user) || !nin || !in ? CL_INVALID_VALUE
                 : !cl_same_device(n, devices)                        ? CL_INVALID_DEVICE
                                                                      : CL_SUCCESS;
    for (cl_uint i = 0; i < nin && !bad; i++)
        if (!cl_is(in[i], KIND_PROGRAM))
            bad = CL_INVALID_PROGRAM;
        else if (!in[i]->object.bitcode || (in[i]->type != CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT &&
                                            in[i]->type != CL_PROGRAM_BINARY_TYPE_LIBRARY))
            bad = CL_INVALID_OPERATION;
    orr_arena a = {0};
    orr_err e = {0};
    orr_clc_options o = {0};
    if (!bad && !orr_clc_parse_options(options, &a, &o, &e)) bad = CL_INVALID_LINKER_OPTIONS;
    free(o.words.at);
    cl_program p = NULL;
    if (!bad) {
        cl_lock();
        p = new_program(c);
        set_text(&p->options, options);
        set_text(&p->log, "");
        orr_clc_bitcode *bits = orr_calloc(nin, sizeof *bits);
        for (cl_uint i = 0; i < nin; i++) bits[i] = (orr_clc_bitcode){in[i]->object.bitcode, in[i]->object.n};
        for (cl_uint i = 0; i < nin; i++) p->lists_info |= in[i]->lists_info;
        if (!orr_clc_join(bits, nin, &p->object, &e)) bad = fail(p, &e, CL_LINK_PROGRAM_FAILURE);
        p->ir = p->object.ir;
        p->nir = p->object.nir;
        p->object.ir = NULL;
        if (!bad && o.library) {
            p->type = CL_PROGRAM_BINARY_TYPE_LIBRARY;
            p->status = CL_BUILD_SUCCESS;
        } else if (!bad) {
            bad = load(p, bits, nin, CL_LINK_PROGRAM_FAILURE);
        }
        free(bits);
        cl_unlock();
        if (notify) notify(p, user);
    }
    orr_arena_free(&a);
    SET_ERROR(error, bad);
    return p;
}

cl_int cl_clUnloadCompiler(void) { return CL_SUCCESS; }
cl_int cl_clUnloadPlatformCompiler(cl_platform_id p) {
    return p == &cl_platform ? CL_SUCCESS : CL_INVALID_PLATFORM;
}

// ---- asking -----------------------------------------------------------------------------------------
static uint8_t *binary_of(cl_program p, size_t *n) {
    *n = 0;
    if (!p->object.bitcode) return NULL;
    orr_clc_binary b = {.type = p->type,
                        .bitcode = p->object.bitcode,
                        .nbitcode = p->object.n,
                        .ir = p->ir,
                        .nir = p->nir,
                        .options = p->options,
                        .noptions = p->options ? strlen(p->options) : 0};
    return orr_clc_write_binary(&b, n);
}

static cl_int names_of(cl_program p, size_t room, void *value, size_t *size) {
    orr_text t = {0};
    orr_text_add(&t, "%s", "");
    for (uint32_t i = 0; i < p->object.kernels.n; i++)
        orr_text_add(&t, "%s%s", i ? ";" : "", p->object.kernels.at[i].name);
    cl_int error = cl_answer_text(t.s, room, value, size);
    free(t.s);
    return error;
}

cl_int cl_clGetProgramInfo(cl_program p, cl_program_info what, size_t room, void *value, size_t *size) {
    if (!cl_is(p, KIND_PROGRAM)) return CL_INVALID_PROGRAM;
    size_t n;
    uint8_t *binary;
    switch (what) {
    case CL_PROGRAM_REFERENCE_COUNT: ANSWER(cl_uint, p->head.refs);
    case CL_PROGRAM_CONTEXT: ANSWER(cl_context, p->context);
    case CL_PROGRAM_NUM_DEVICES: ANSWER(cl_uint, 1);
    case CL_PROGRAM_DEVICES: ANSWER(cl_device_id, &cl_device);
    case CL_PROGRAM_SOURCE: return cl_answer_text(p->source ? p->source : "", room, value, size);
    case CL_PROGRAM_IL: return cl_answer(p->il, p->nil, room, value, size);
    case CL_PROGRAM_BINARY_SIZES: free(binary_of(p, &n)); ANSWER(size_t, n);
    case CL_PROGRAM_BINARIES:
        if (value && room < sizeof(void *)) return CL_INVALID_VALUE;
        if (size) *size = sizeof(void *);
        if (!value || !*(void **)value) return CL_SUCCESS;
        binary = binary_of(p, &n);
        if (n) memcpy(*(void **)value, binary, n);
        free(binary);
        return CL_SUCCESS;
    case CL_PROGRAM_NUM_KERNELS:
        if (!p->module) return CL_INVALID_PROGRAM_EXECUTABLE;
        ANSWER(size_t, p->object.kernels.n);
    case CL_PROGRAM_KERNEL_NAMES:
        if (!p->module) return CL_INVALID_PROGRAM_EXECUTABLE;
        return names_of(p, room, value, size);
    case CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT:
    case CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT: ANSWER(cl_bool, CL_FALSE);
    default: return CL_INVALID_VALUE;
    }
}

// Bytes of its variables in global memory, each at its alignment.
static size_t variables_of(const struct _cl_program *p) {
    const orr_module *m = p->module ? p->module->module : NULL;
    size_t n = 0;
    for (uint32_t v = 0; m && v < m->nvars; v++)
        if (m->vars[v].space == ORR_SPACE_GLOBAL) n += (m->vars[v].bytes + 15) & ~(size_t)15;
    return n;
}

cl_int cl_clGetProgramBuildInfo(cl_program p, cl_device_id d, cl_program_build_info what, size_t room,
                                void *value, size_t *size) {
    if (!cl_is(p, KIND_PROGRAM)) return CL_INVALID_PROGRAM;
    if (d != &cl_device) return CL_INVALID_DEVICE;
    switch (what) {
    case CL_PROGRAM_BUILD_STATUS: ANSWER(cl_build_status, p->status);
    case CL_PROGRAM_BUILD_OPTIONS: return cl_answer_text(p->options ? p->options : "", room, value, size);
    case CL_PROGRAM_BUILD_LOG: return cl_answer_text(p->log ? p->log : "", room, value, size);
    case CL_PROGRAM_BINARY_TYPE: ANSWER(cl_program_binary_type, p->type);
    case CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE: ANSWER(size_t, variables_of(p));
    default: return CL_INVALID_VALUE;
    }
}
