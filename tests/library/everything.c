// Every function of orrery.h, as a program outside the tree uses them: compiled with pkg-config against the
// installed library (tests/test_install.sh). Expected values are the manuals', worked out beside them, or
// what another job must say too.
//
//     everything SOURCE WORK [PROGRAM FATBIN]      the source tree, a folder to write to, a CUDA program
#include <orrery.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static orr_err e;
static int failures;

#define CHECK(what)                                                                                          \
    do {                                                                                                     \
        if (!(what)) {                                                                                       \
            printf("%s:%d: %s (%s)\n", __FILE__, __LINE__, #what, e.text);                                   \
            failures++;                                                                                      \
        }                                                                                                    \
        e = (orr_err){0};                                                                                    \
    } while (0)

static const char *source, *work;

static const char *path_in(const char *folder, const char *name) {
    static char paths[64][1024]; // as many as are used
    static int n;
    char *p = paths[n++ % 64];
    snprintf(p, sizeof paths[0], "%s/%s", folder, name);
    return p;
}

static bool is_there(const char *path) { return access(path, F_OK) == 0; }

// Options as "name=value" words, up to a NULL.
static orr_options *options(const char *const *words) {
    orr_options *o = orr_options_new();
    for (; *words; words++) {
        char name[64];
        const char *value = strchr(*words, '=');
        snprintf(name, sizeof name, "%.*s", (int)(value - *words), *words);
        CHECK(orr_options_set(o, name, value + 1, &e));
    }
    return o;
}
#define OPTIONS(...) options((const char *const[]){__VA_ARGS__, NULL})

// A report has JSON that can be asked, and text; then it goes.
static void done(orr_report *r, orr_options *o) {
    CHECK(r && *orr_report_as(r, ORR_TEXT));
    CHECK(r && orr_report_count(r, "") >= 0);
    orr_report_free(r);
    orr_options_free(o);
}

static int notes;
static void count_note(void *arg, const char *line) {
    (void)arg;
    notes += *line != 0;
}

// ---- one input ------------------------------------------------------------------------------------
static double cycles_of(const char *input, const char *model) {
    orr_options *o = OPTIONS("gpu=h200", "size=small", "threads=2");
    orr_options_set(o, "model", model, &e);
    orr_report *r = orr_run(input, o, &e);
    double cycles = orr_report_number(r, "/launches/0/cycles");
    CHECK(r && cycles > 0);
    CHECK(r && orr_report_number(r, "/totals/cycles") == cycles); // saxpy has one launch
    done(r, o);
    return cycles;
}

// Two runs on one page; what is no report makes none.
static void page_of(orr_report *r) {
    const char *data = orr_report_as(r, ORR_PAGE_DATA), *two[] = {data, data}, *wrong[] = {"{}"};
    CHECK(data != NULL && orr_report_as(r, ORR_HTML) != NULL);
    orr_report *page = orr_page(two, 2, &e);
    CHECK(page && strstr(orr_report_as(page, ORR_HTML), "<!doctype html>"));
    orr_report_free(page);
    orr_err bad = {0};
    CHECK(!orr_page(wrong, 1, &bad) && bad.status == 2);
}

static void run_and_record(void) {
    const char *timeline = path_in(work, "timeline.json"), *stream = path_in(work, "saxpy.orr");
    const char *digests = path_in(work, "digests.csv"), *traces = path_in(work, "traces");
    orr_options *o = OPTIONS("gpu=h200", "model=cycle", "size=small", "threads=2", "lines=yes");
    orr_options_set(o, "timeline", timeline, &e);
    orr_options_set(o, "digests", digests, &e);
    orr_report *r = orr_run("saxpy", o, &e);
    double cycles = orr_report_number(r, "/launches/0/cycles");
    CHECK(r && orr_report_number(r, "/buffers_checked") == 1);
    page_of(r);
    CHECK(r && orr_report_as(r, ORR_ACCELSIM) && orr_report_as(r, ORR_TERMINAL));
    CHECK(r && !orr_report_as(r, ORR_CSV));
    CHECK(is_there(timeline) && is_there(digests));
    done(r, o);

    o = OPTIONS("gpu=h200", "size=small");
    CHECK(orr_record("saxpy", stream, o, &e));
    orr_options_set(o, "format", "accel-sim-plain", &e);
    CHECK(orr_record("saxpy", traces, o, &e));
    orr_options_free(o);
    r = orr_info(stream, NULL, &e);
    CHECK(orr_report_count(r, "/launches") == 1);
    done(r, NULL);
    done(orr_info(path_in(traces, "kernelslist.g"), NULL, &e), NULL);

    // A stream is what the execution was: the same cycles.
    o = OPTIONS("gpu=h200", "model=cycle", "threads=1");
    r = orr_run(stream, o, &e);
    CHECK(r && orr_report_number(r, "/launches/0/cycles") == cycles);
    CHECK(r && !strcmp(orr_report_string(r, "/source"), "trace"));
    done(r, o);

    // A module without a script: 4 blocks of 8 warps.
    o = OPTIONS("kernel=vecadd", "grid=4", "block=256", "arg=i32:1000", "arg=buf:f32:1000:random",
                "arg=buf:f32:1000:random", "arg=buf:f32:1000");
    r = orr_run(path_in(source, "workloads/vecadd/vecadd.ptx"), o, &e);
    CHECK(r && orr_report_number(r, "/launches/0/grid/0") == 4);
    done(r, o);

    // A task list: an application that has not been written.
    o = OPTIONS("gpu=k40", "model=partial");
    r = orr_run(path_in(source, "ppt/stencil.tasks"), o, &e);
    CHECK(r && !strcmp(orr_report_string(r, "/source"), "tasks"));
    CHECK(r && orr_report_number(r, "/application/time_ns") > 0);
    done(r, o);

    CHECK(!orr_run("saxpi", NULL, &e) && e.status == 2 && strstr(e.text, "saxpy"));
}

// ---- several models, descriptions, measurements -----------------------------------------------------
static void compare_and_correlate(void) {
    double analytic = cycles_of("saxpy", "analytic");
    const char *inputs[] = {"saxpy"};
    orr_options *o = OPTIONS("gpu=h200", "size=small", "threads=2", "model=analytic,abstract");
    orr_report *r = orr_compare(inputs, 1, o, &e);
    CHECK(r && orr_report_as(r, ORR_CSV));
    CHECK(r && orr_report_number(r, "/inputs/0/kernels/0/models/0/cycles") > 0);
    done(r, o);

    const char *measured[] = {path_in(source, "hardware/h200/workloads.csv")};
    o = OPTIONS("gpu=h200", "model=analytic", "size=small", "script=saxpy", "threads=2");
    r = orr_correlate(measured, 1, o, &e);
    CHECK(r && orr_report_as(r, ORR_HTML) && orr_report_as(r, ORR_CSV));
    CHECK(r && strstr(orr_report_as(r, ORR_JSON), "saxpy"));
    done(r, o);

    const char *found[] = {path_in(source, "hardware/h200/micro.csv")};
    r = orr_tune(found, 1, NULL, &e);
    CHECK(r && orr_report_count(r, "/keys") > 50);
    CHECK(r && orr_report_as(r, ORR_LOG));
    done(r, NULL);

    // A sweep over one value is the run itself.
    const char *database = path_in(work, "sweep.sqlite"), *table = path_in(work, "sweep.csv");
    o = OPTIONS("gpu=h200", "model=analytic", "size=small", "threads=2", "vary=sm.count=66,132");
    orr_options_set(o, "output", database, &e);
    orr_options_set(o, "csv", table, &e);
    r = orr_sweep("saxpy", o, &e);
    CHECK(r && orr_report_count(r, "/points") == 2);
    CHECK(r && orr_report_number(r, "/points/1/cycles") == analytic);
    CHECK(is_there(database) && is_there(table) && !is_there(path_in(work, "sweep.svg")));
    done(r, o);
}

// What would help, and what differs.
static void explaining(void) {
    orr_err e = {0};
    orr_options *o = OPTIONS("gpu=h200", "size=small", "threads=2", "set=n=4096");
    orr_report *r = orr_explain("saxpy", o, &e);
    CHECK(r && orr_report_number(r, "/time_ns") > 0 && orr_report_count(r, "/ideals") > 0);
    CHECK(r && orr_report_number(r, "/ideals/0/time_ns") > 0);
    done(r, o);

    o = OPTIONS("gpu=h200", "size=small", "threads=2", "second=set=n=4096", "fail-if=slower 5%");
    r = orr_diff("saxpy", "saxpy", o, &e); // less work is not slower
    CHECK(r && !e.status && orr_report_number(r, "/percent") < 0);
    CHECK(r && orr_report_as(r, ORR_TEXT) && orr_report_as(r, ORR_HTML));
    done(r, o);
    o = OPTIONS("gpu=h200", "size=small", "threads=2", "second=set=sm.count=2", "fail-if=slower 5%");
    r = orr_diff("saxpy", "saxpy", o, &e);
    CHECK(r && e.status == 4 && orr_report_number(r, "/percent") > 5);
    orr_report_free(r);
    orr_options_free(o);
}

static void sampling(void) {
    const char *profile = path_in(work, "bfs.profile");
    orr_options *o = OPTIONS("gpu=fermi_tbpoint", "size=small", "threads=2");
    orr_options_set(o, "profile", profile, &e);
    orr_report *r = orr_sample_profile("bfs", o, &e);
    int64_t launches = orr_report_count(r, "/launches");
    CHECK(launches > 1 && is_there(profile));
    CHECK(orr_report_number(r, "/clusters") >= 1);
    orr_options_set(o, "sample", "yes", &e);
    orr_options_set(o, "model", "cycle", &e);
    orr_report_free(r);
    r = orr_run("bfs", o, &e);
    CHECK(r && orr_report_count(r, "/launches") == launches);
    CHECK(r && orr_report_number(r, "/sample/cycles") > 0);
    done(r, o);
    const char *inputs[] = {"saxpy"};
    o = OPTIONS("gpu=fermi_tbpoint", "size=small", "threads=2");
    done(orr_sample_study(inputs, 1, o, &e), o);
    r = orr_sample_model(NULL, &e);
    CHECK(r && orr_report_as(r, ORR_SVG) && orr_report_as(r, ORR_CSV));
    done(r, NULL);
}

// ---- GPUs and workloads -------------------------------------------------------------------------------
static void descriptions(void) {
    done(orr_gpus(NULL, &e), NULL);
    done(orr_gpu_keys(&e), NULL);
    done(orr_nodes(&e), NULL);
    done(orr_node_keys(&e), NULL);
    done(orr_node_describe("dgx_h200", &e), NULL);
    done(orr_workloads(&e), NULL);
    orr_options *o = OPTIONS("set=sm.count=66");
    orr_report *r = orr_gpu_describe("h200", o, &e);
    CHECK(r && strstr(orr_report_as(r, ORR_TEXT), "66"));
    done(r, o);
    // Every value has its evidence, and nothing of an H200 is inherited from another chip.
    r = orr_gpu_evidence("h200", NULL, &e);
    CHECK(r && orr_report_number(r, "/published") > 0 && orr_report_number(r, "/inherited") == 0);
    done(r, NULL);
    // 64 registers, 256 threads: 16384 of 65536 registers of an SM (programming guide, 9.0).
    o = OPTIONS("block=256", "regs=64");
    r = orr_gpu_occupancy("h200", o, &e);
    CHECK(r && orr_report_number(r, "/blocks_per_sm") == 4);
    done(r, o);
    o = orr_options_new();
    orr_options_notes(o, count_note, NULL);
    r = orr_gpu_import(path_in(work, "gpgpusim.config"), path_in(work, "trace.config"), o, &e);
    CHECK(r && strstr(orr_report_as(r, ORR_TEXT), "sm.count") && notes > 0);
    orr_report_free(r);
    orr_options_free(o);
}

// ---- hardware, through a driver that the script has put in its place -------------------------------------
static void hardware(void) {
    const char *inputs[] = {path_in(work, "add.launch")};
    orr_options *o = OPTIONS("repeat=3");
    orr_report *r = orr_measure(inputs, 1, o, &e);
    CHECK(r && !strcmp(orr_report_string(r, "/gpu"), "Fake 7"));
    CHECK(r && orr_report_number(r, "/right") == 1);
    CHECK(r && orr_report_as(r, ORR_LOG));
    done(r, o);
    r = orr_micro(inputs, 1, NULL, &e); // a script without `measure`: what the driver says of the GPU
    CHECK(r && strstr(orr_report_as(r, ORR_CSV), "device.sms"));
    CHECK(r && orr_report_count(r, "/findings") > 0);
    orr_report_free(r);
}

// ---- code -----------------------------------------------------------------------------------------------
static void code(void) {
    orr_report *r = orr_show(path_in(source, "workloads/saxpy/saxpy.ptx"), NULL, &e);
    CHECK(r && !strcmp(orr_report_string(r, "/0/kernel"), "saxpy"));
    done(r, NULL);
    orr_options *o = OPTIONS("timed=yes", "gpu=h200");
    r = orr_show(path_in(source, "workloads/saxpy/saxpy.ptx"), o, &e);
    CHECK(r && strstr(orr_report_as(r, ORR_TEXT), "FFMA") && !orr_report_as(r, ORR_JSON));
    orr_report_free(r);
    orr_options_free(o);
    FILE *f = fopen(path_in(work, "saxpy.sass"), "w+");
    char line[400];
    bool found = false;
    CHECK(f && orr_disassemble(path_in(source, "workloads/saxpy/saxpy.cubin"), f, NULL, &e));
    for (rewind(f); fgets(line, sizeof line, f);) found |= strstr(line, "FFMA") != NULL;
    CHECK(found && fclose(f) == 0);
}

// ---- programs -----------------------------------------------------------------------------------------
static void programs(char *program, char *fatbin) {
    char axpy[] = "axpy", seven[] = "7";
    char *argv[] = {program, fatbin, axpy, seven, NULL};
    int status = -1;
    orr_options *o = OPTIONS("gpu=h200", "model=cycle", "threads=2");
    orr_report *r = orr_app_run(argv, o, &status, &e);
    CHECK(r && !strcmp(orr_report_string(r, "/launches/0/kernel"), "axpy"));
    CHECK(status == 7); // the program's own
    // Two arrays of 4,000 bytes in, one out.
    CHECK(r && orr_report_number(r, "/application/copy_bytes") == 12000);
    done(r, o);
    o = OPTIONS("gpu=h200", "model=cycle", "threads=2", "sample=yes");
    r = orr_app_run(argv, o, &status, &e);
    CHECK(r && orr_report_number(r, "/sample/cycles") > 0 && status == 7);
    done(r, o);
    char **env = orr_app_environment(program, NULL, &e);
    bool path = false;
    for (char **v = env; v && *v; v++) path |= !strncmp(*v, "LD_LIBRARY_PATH=", 16);
    CHECK(path);
    orr_free(env);
    o = OPTIONS("output=/nowhere/at/all", "kernels=axpy*");
    env = orr_capture_environment(program, o, &e); // where there is a driver
    CHECK(env || (e.status == 2 && strstr(e.text, "no CUDA driver")));
    if (!env) e = (orr_err){0};
    orr_free(env);
    orr_options_free(o);
    char nothing[] = "/bin/true", *idle[] = {nothing, NULL};
    CHECK(!orr_app_run(idle, NULL, &status, &e) && e.status == 1 && status == 0);
    CHECK(!orr_mpi_run(idle, NULL, &status, &e) && e.status == 2); // how many ranks is not said
}

// ---- a device -------------------------------------------------------------------------------------------
static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".global .align 4 .u32 five = 5;\n"
                          ".visible .entry twice(.param .u64 x) { .reg .b64 %d<4>; .reg .b32 %r<4>;\n"
                          "  ld.param.u64 %d1, [x]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4;\n"
                          "  add.u64 %d3, %d1, %d2; ld.global.u32 %r2, [%d3]; add.u32 %r3, %r2, %r2;\n"
                          "  st.global.u32 [%d3], %r3; ret; }\n";

static void device(void) {
    orr_device *d = orr_device_open(NULL, &e);
    CHECK(d);
    orr_device_module *m = orr_device_parse(d, "twice.ptx", ptx, sizeof ptx - 1, &e);
    CHECK(m && orr_device_kernels(m) == 1 && !strcmp(orr_device_kernel(m, 0), "twice"));
    CHECK(orr_device_load(d, path_in(source, "workloads/saxpy/saxpy.cubin"), &e));
    uint64_t five = 0, bytes = 0;
    CHECK(orr_device_symbol(m, "five", &five, &bytes, &e) && bytes == 4);
    orr_kernel_facts k;
    CHECK(orr_device_facts(m, "twice", &k, &e) && k.params == 1 && k.param_bytes == 8);
    char *listing = orr_device_listing(m, "twice", &e);
    CHECK(listing && strstr(listing, "add"));
    orr_free(listing);
    uint32_t host[64], got = 0;
    for (uint32_t i = 0; i < 64; i++) host[i] = i;
    uint64_t x = orr_device_alloc(d, sizeof host, &e);
    CHECK(x && orr_device_write(d, x, host, sizeof host, &e));
    void *args[] = {&x};
    orr_launch_facts did;
    CHECK(orr_device_launch(m, "twice", &(orr_launch_config){.block = {64}, .args = args, .nargs = 1}, &did,
                            &e));
    CHECK(did.thread_insts == 64 * 8 &&
          isnan(did.cycles)); // eight instructions; no time without a model of it
    CHECK(orr_device_read(d, x + 63 * 4, &got, 4, &e) && got == 126);
    CHECK(orr_device_free(d, x, &e));
    orr_report *r = orr_device_report(d, &e);
    CHECK(r && orr_report_count(r, "/launches") == 1);
    done(r, NULL);
    orr_device_close(d);
}

// ---- progress and cancellation ----------------------------------------------------------------------------
static int calls, stop_at;
static bool watch(void *arg, const orr_status *s) {
    (void)arg;
    return ++calls != stop_at && s->what;
}

static void watching(void) {
    orr_options *o = OPTIONS("gpu=h200", "model=cycle", "size=small", "threads=2");
    orr_options_watch(o, watch, NULL);
    done(orr_run("saxpy", o, &e), NULL);
    CHECK(calls >= 2);
    calls = 0;
    stop_at = 1;
    CHECK(!orr_run("saxpy", o, &e) && e.status == 3);
    orr_options_print(o, stdout);
    orr_options_free(o);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    source = argv[1];
    work = argv[2];
    CHECK(!strcmp(orr_version(), ORR_VERSION));
    run_and_record();
    compare_and_correlate();
    explaining();
    sampling();
    descriptions();
    hardware();
    code();
    device();
    watching();
    if (argc > 4) programs(argv[3], argv[4]);
    printf("%d failed\n", failures);
    return failures != 0;
}
