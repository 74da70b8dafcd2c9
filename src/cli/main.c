// The `orrery` command: finds the subcommand, runs it, and turns what happened into an exit status.
// Results are on stdout and count as written only when the last byte has left; all else is on stderr.
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t gently, interrupted;

void cli_stops_gently(void) { gently = 1; }

// Ctrl-C; or, of a process that another one of ours has started, a file that says it ($ORRERY_STOP).
bool cli_interrupted(void) {
    static const char *file;
    if (!file && !(file = getenv("ORRERY_STOP"))) file = "";
    return interrupted || (*file && access(file, F_OK) == 0);
}

// A signal must not leave a half-written file: temporaries go, then the signal does what it always does.
static void on_signal(int number) {
    if (number == SIGINT && gently && !interrupted) {
        static const char text[] = "\norrery: stopping; what is there follows (Ctrl-C again: at once)\n";
        ssize_t got = write(STDERR_FILENO, text, sizeof text - 1);
        (void)got;
        interrupted = 1;
        return;
    }
    orr_out_abort_all();
    signal(number, SIG_DFL);
    raise(number);
}

static void catch_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction was, act = {.sa_handler = on_signal};
        sigemptyset(&act.sa_mask);
        act.sa_flags = SA_NODEFER; // so that raise() takes effect inside the handler
        if (sigaction(numbers[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
            sigaction(numbers[i], &act, NULL);
    }
}

// The executor is compiled for x86-64-v3 (CMakeLists.txt). Better a sentence than SIGILL.
static bool check_processor(orr_err *e) {
#ifdef __x86_64__
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2"))
        return orr_fail(e, ORR_BAD_INPUT,
                        "this processor lacks AVX2, FMA or BMI2, which this build needs; rebuild with "
                        "cmake -DORRERY_MARCH=native");
#endif
    (void)e;
    return true;
}

// An installed tree may have been moved: bin/orrery finds share/orrery beside bin/ before the folder that
// was configured. Whoever sets ORRERY_DATA knows better.
static void find_data(void) {
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0 || getenv("ORRERY_DATA")) return;
    path[n] = 0;
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(path, '/');
        if (!slash) return;
        *slash = 0;
    }
    if (strlen(path) + sizeof "/share/orrery" > sizeof path) return;
    strcat(path, "/share/orrery");
    if (access(path, R_OK | X_OK) == 0) setenv("ORRERY_DATA", path, 1);
}

static int dispatch(int argc, char **argv, orr_err *e) {
    const char *name = argc > 1 ? argv[1] : "";
    bool help = !strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h");
    if (argc < 2) {
        cli_help(stderr, NULL);
        orr_fail(e, ORR_BAD_INPUT, "a subcommand is needed");
        return ORR_BAD_INPUT;
    }
    if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
        printf("orrery %s\n", orr_version());
        return 0;
    }
    if (help) {
        const cli_subcommand *c = argc > 2 ? cli_find_subcommand(argv[2], e) : NULL;
        if (argc > 2 && !c) return ORR_BAD_INPUT;
        cli_help(stdout, c);
        return 0;
    }
    if (name[0] == '-') {
        orr_fail(e, ORR_BAD_INPUT, "unknown option %.60s before the subcommand; see `orrery help`", name);
        return ORR_BAD_INPUT;
    }
    const cli_subcommand *c = cli_find_subcommand(name, e);
    if (!c) return ORR_BAD_INPUT;
    cli_options o = {0};
    int status = ORR_BAD_INPUT;
    if (cli_parse(name, argc - 1, argv + 1, &o, e) && check_processor(e)) status = c->run(&o, e);
    cli_free(&o);
    return status;
}

// What a launch gives back the next one takes: the C library does not hand it to the system in between, from
// which it would come back page by page.
static void keep_memory(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
    mallopt(M_TRIM_THRESHOLD, 512 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
#endif
}

int main(int argc, char **argv) {
    keep_memory();
    catch_signals();
    find_data();
    orr_err e = {0};
    int status = dispatch(argc, argv, &e);
    if ((fflush(stdout) != 0 || ferror(stdout)) && e.status != ORR_BAD_INPUT) {
        int why = errno;
        if (e.status) fprintf(stderr, "orrery: %s\n", e.text); // the program failed, and then so did we
        e = (orr_err){0};
        orr_fail(&e, ORR_BAD_INPUT, "cannot write to standard output: %s",
                 why ? strerror(why) : "write error");
    }
    if (e.status) {
        fprintf(stderr, "orrery: %s\n", e.text);
        status = e.status;
    }
    orr_out_abort_all();
    if (interrupted) { // so that a shell or make knows why
        signal(SIGINT, SIG_DFL);
        raise(SIGINT);
    }
    return status;
}
