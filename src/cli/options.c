// One option parser for all subcommands: long options as GNU has them (--opt value, --opt=value, `--`
// ends them), -o, -q and -h for short. An abbreviation is refused, so that a script does not change its
// meaning when an option is added.
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Most options are the library's, which knows what they take (api/options.c); the others are the command's
// own, and say where results go.
enum kind { JOB, JOB_FLAG, FLAG, STRING };

typedef struct option {
    const char *name;
    char letter;
    enum kind kind;
    size_t at;         // of the command's own: offset in cli_options
    const char *value; // what --help calls the argument
    const char *help;
} option;

#define AT(field) offsetof(cli_options, field)

static const option options[] = {
    {"gpu", 0, JOB, 0, "NAME|FILE",
     "the GPU: a name of `orrery gpu list` or a .conf file (default h200); run and compare take several: "
     "k40,v100,h200"},
    {"model", 0, JOB, 0, "NAME",
     "functional executes and counts; cycle tells time too; abstract, partial and analytic do so faster "
     "(default: functional in run, cycle in app, cl and correlate, abstract in sweep, all in compare)"},
    {"size", 0, JOB, 0, "NAME",
     "problem size: small, medium, large or as the script names it (default: its first)"},
    {"source", 0, JOB, 0, "ptx|sass",
     "PTX or machine code, where a module has both (default: machine code if it is for the GPU)"},
    {"on", 0, JOB, 0, "cpu|gpu",
     "execute kernels on the CPU (default) or on this machine's GPU, which tells what they do "
     "(docs/guides/on-gpu.md)"},
    {"flush", 0, JOB_FLAG, 0, NULL,
     "L2 is empty when a kernel starts, as under Nsight Compute; without, it has what the kernel before "
     "left"},
    {"set", 0, JOB, 0, "KEY=VALUE", "a constant of the script or a value of the GPU; may be repeated"},
    {"kernel", 0, JOB, 0, "NAME", "the kernel to launch, when INPUT is a module"},
    {"grid", 0, JOB, 0, "X[,Y[,Z]]", "thread blocks"},
    {"block", 0, JOB, 0, "X[,Y[,Z]]", "threads of a block"},
    {"shared", 0, JOB, 0, "BYTES", "dynamic shared memory of a block"},
    {"global", 0, JOB, 0, "X[,Y[,Z]]",
     "work-items in all, as OpenCL counts: instead of --grid, with --local"},
    {"local", 0, JOB, 0, "X[,Y[,Z]]", "work-items of a work-group: instead of --block"},
    {"build", 0, JOB, 0, "OPTIONS",
     "options of clBuildProgram for OpenCL C: \"-D N=4 -cl-fast-relaxed-math\""},
    {"arg", 0, JOB, 0, "TYPE:VALUE",
     "a kernel argument, in order: i32:7, f32:2.5, buf:f32:1048576:random, local:1024 (OpenCL), ..."},
    {"annotate", 0, JOB_FLAG, 0, NULL,
     "run kernels on the device that is there, with counters, and predict from those"},
    {"kernels", 0, JOB, 0, "GLOB",
     "only launches of kernels whose name matches, as '*gemm*' (others are executed, not modelled)"},
    {"launches", 0, JOB, 0, "LIST", "only launches with these numbers, from 0, as 3-7,9,20-"},
    {"threads", 0, JOB, 0, "N", "host threads (default: one a processor); results do not depend on it"},
    {"max-insts", 0, JOB, 0, "N",
     "end a launch with an error when a warp has executed N instructions (k, M, G may follow)"},
    {"bounds", 0, JOB, 0, "gpu|strict",
     "an access outside of all allocations passes where a GPU lets it (gpu, the default but for cl), or ends "
     "the kernel (strict)"},
    {"clock", 0, JOB, 0, "host|simulated",
     "what the program's own clock (clock_gettime, gettimeofday, time) tells: this machine's time (host, the "
     "default), or the simulated one"},
    {"ranks", 'n', JOB, 0, "N", "ranks of the MPI program"},
    {"per-node", 0, JOB, 0, "N", "ranks on a node (default: its number of GPUs)"},
    {"platform", 0, JOB, 0, "FABRIC",
     "the network: fat-tree, fat-tree:K, rail, dragonfly, crossbar, or a platform of SimGrid's (*.xml)"},
    {"host", 0, JOB, 0, "ignore|FACTOR",
     "host code takes no time (ignore, the default), or FACTOR times what it takes here"},
    {"times", 0, JOB, 0, "recorded|model|FILE",
     "of a trace's operators: as recorded (default), from --model, or from a report of `run --json` by "
     "kernel and shape"},
    {"alike", 0, JOB, 0, "yes|no|time",
     "launches alike over ranks are simulated once and all executed (yes), all simulated (no), or only timed "
     "(time)"},
    {"node", 0, JOB, 0, "NODE", "the machine around the GPU: a name of `orrery node list` or a .conf file"},
    {"range", 0, JOB, 0, "GLOB",
     "only launches in NVTX ranges whose name or path, as 'step/layer 3', matches (capture, and run of one)"},
    {"measure", 0, JOB_FLAG, 0, NULL,
     "also measure each launch's time (times.csv) and, under Nsight Compute, its counters, for `orrery "
     "correlate DIR` (measured.csv)"},
    {"memory", 0, JOB, 0, "BYTES",
     "a launch that can reach more is captured without memory and cannot be replayed (default 4G)"},
    {"all-memory", 0, JOB_FLAG, 0, NULL, "keep all memory, also what a kernel has no pointer to"},
    {"inputs-only", 0, JOB_FLAG, 0, NULL,
     "keep only a digest of what kernels leave: replay makes it again, launch after launch"},
    {"counts-only", 0, JOB_FLAG, 0, NULL, "count instructions only: fastest"},
    {"budget", 0, JOB, 0, "TIME",
     "take the most exact model that should need no longer than TIME (10s, 5m, 1h), and say which"},
    {"lines", 0, JOB_FLAG, 0, NULL, "statistics for each source line too"},
    {"timed", 0, JOB_FLAG, 0, NULL,
     "the machine instructions that are timed on --gpu, with units, latencies and registers"},
    {"tasks", 0, JOB_FLAG, 0, NULL,
     "the launches of an INPUT as a task list (*.tasks), to be edited and run"},
    {"ptx", 0, JOB_FLAG, 0, NULL, "the module as PTX text, printed from what was read"},
    {"latencies", 0, JOB, 0, "FILE",
     "keep pre-characterised kernels in FILE: those there are used, others added (--model abstract)"},
    {"timeline", 0, JOB, 0, "FILE",
     "write the course of time to FILE, for ui.perfetto.dev: blocks, bandwidths and stalls (run --model "
     "cycle), or kernels and copies by stream (app, cl)"},
    {"record", 0, JOB, 0, "DIR",
     "also write the launches' streams to DIR, for `orrery run DIR` with other models or GPUs"},
    {"digests", 0, JOB, 0, "FILE", "write a digest of every buffer at the end to FILE (CSV)"},
    {"sample", 0, JOB_FLAG, 0, NULL,
     "simulate some launches and blocks and predict the others (--model cycle; docs/how/sampling.md)"},
    {"profile", 0, JOB, 0, "FILE",
     "the profile of --sample: read when FILE is there, else made; good for every GPU"},
    {"warm:", 0, JOB, 0, "none|functional",
     "with --sample: whether what is left out still fills L2 (default functional; none with l2.flush)"},
    {"precision", 0, JOB, 0, "PERCENT",
     "with --sample: how well a region's IPC must be known before blocks are left out (default 5; 0: as "
     "TBPoint)"},
    {"piece", 0, JOB, 0, "N", "warp instructions of a piece, for random sampling and SimPoint (default 50k)"},
    {"full", 0, JOB, 0, "FILE",
     "the full simulation's result: read when FILE is there, else made and written"},
    {"plot", 0, STRING, AT(out.plot), "FILE", "draw it, as SVG"},
    {"check", 0, JOB_FLAG, 0, NULL, "execute every block and compare buffers, also with --model partial"},
    {"no-check", 0, JOB_FLAG, 0, NULL, "do not compare buffers with what the script expects"},
    {"mpi", 0, JOB_FLAG, 0, NULL,
     "one of several processes of mpirun or srun: each simulates its part of the points"},
    {"shard", 0, JOB, 0, "K/N", "only the K-th of N parts of the points, into FILE.part-K"},
    {"merge", 0, JOB_FLAG, 0, NULL, "take what is in FILE.part-*, and simulate what is missing"},
    {"slurm", 0, STRING, AT(slurm), "ARGS",
     "hand the sweep to Slurm: an array of --workers jobs and one that merges; ARGS are sbatch's"},
    {"workers", 0, STRING, AT(workers), "N", "with --slurm: jobs (default 8)"},
    {"all", 0, FLAG, AT(all), NULL, "every bundled workload"},
    {"repeat", 0, JOB, 0, "N", "time every launch N times"},
    {"regs", 0, JOB, 0, "N", "registers per thread, for the occupancy (default 32)"},
    {"barriers", 0, JOB, 0, "N", "named barriers of the kernel, for the occupancy (default 1)"},
    {"evidence", 0, FLAG, AT(out.evidence), NULL,
     "why each value is what it is, and how many of each sort there are"},
    {"names", 0, FLAG, AT(out.names), NULL, "bare names, one a line"},
    {"json", 0, FLAG, AT(out.json), NULL, "one JSON object, to standard output or the file of -o"},
    {"stats", 0, STRING, AT(out.stats), "accel-sim",
     "results under GPGPU-Sim's and Accel-Sim's names, for scripts (--model cycle)"},
    {"format", 0, JOB, 0, "NAME",
     "what record and app --record write: orrery (default; streams), accel-sim (a folder with .traceg.xz) or "
     "accel-sim-plain (.traceg)"},
    {"log", 0, STRING, AT(out.log), "FILE",
     "also write every launch in order to FILE (CSV; hw run), or what was tried (tune)"},
    {"without", 0, JOB, 0, "GPU",
     "the family's description without what was measured on this GPU, as if it had never been seen (tune)"},
    {"warm", 0, JOB_FLAG, 0, NULL, "leave the caches as they are before a kernel (default: flushed)"},
    {"metrics", 0, STRING, AT(metrics), "NAME,NAME...",
     "measure these of Nsight Compute's metrics (hw profile; default: all that models predict)"},
    {"html", 0, STRING, AT(out.html), "FILE", "write a page for the browser to FILE, self-contained"},
    {"csv", 0, STRING, AT(out.csv), "FILE", "write every point and counter to FILE, a row each"},
    {"second", 0, JOB, 0, "OPTION=VALUE",
     "an option of the second run alone, as gpu=v100, source=ptx or set=sm.count=66; may be repeated"},
    {"fail-if", 0, JOB, 0, "\"slower N%\"", "exit with status 4 when the second run takes longer than that"},
    {"vary", 0, JOB, 0, "KEY=VALUES",
     "a key of the GPU or a constant of the script and its values: A,B,C or FROM:TO:STEP or FROM:TO:*FACTOR; "
     "repeated: all combinations"},
    {"hardware", 0, JOB, 0, "FILE",
     "measurements to compare with (CSV of `orrery hw profile`; default: the bundled ones of the GPU)"},
    {"output", 'o', STRING, AT(out.file), "FILE", "write to FILE"},
    {"arch", 0, JOB, 0, "sm_NN", "only code for this architecture, as sm_90"},
    {"images", 0, JOB, 0, "N", "of a large library: N images of each architecture, spread over the file"},
    {"dump", 0, JOB, 0, "FOLDER", "write each function's code to a file in FOLDER, and print the names"},
    {"raw", 0, JOB_FLAG, 0, NULL, "FILE is nothing but instructions, of --arch"},
    {"quiet", 'q', FLAG, AT(out.quiet), NULL, "no progress, no notes on standard error"},
};
#define NOPTIONS (sizeof options / sizeof options[0])

// Levenshtein's distance, for "did you mean"; long words are simply far.
int cli_distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    if (n > 30 || m > 30) return 99;
    int row[32];
    for (size_t j = 0; j <= m; j++) row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (best > row[j] + 1) best = row[j] + 1;
            if (best > row[j - 1] + 1) best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[m];
}

static bool takes(const cli_subcommand *c, const option *o) {
    char word[40];
    snprintf(word, sizeof word, " %s ", o->name);
    return strstr(c->takes, word) != NULL;
}

// Two subcommands may mean different things by one name: the second of them ends in ':'.
static int shown(const option *o) { return (int)strcspn(o->name, ":"); }

static const option *find(const cli_subcommand *c, const char *name, size_t n) {
    const option *found = NULL;
    for (size_t i = 0; i < NOPTIONS; i++)
        if ((size_t)shown(&options[i]) == n && memcmp(options[i].name, name, n) == 0 &&
            (!found || takes(c, &options[i])))
            found = &options[i];
    return found;
}

static bool unknown(const cli_subcommand *c, const char *name, size_t n, orr_err *e) {
    char word[64];
    snprintf(word, sizeof word, "%.*s", n > 60 ? 60 : (int)n, name);
    const option *near = NULL;
    int best = 3;
    for (size_t i = 0; i < NOPTIONS; i++) {
        if (!takes(c, &options[i])) continue;
        int d = n >= 2 && strncmp(options[i].name, word, n) == 0 ? 0 : cli_distance(word, options[i].name);
        if (d < best) {
            best = d;
            near = &options[i];
        }
    }
    if (near)
        return orr_fail(e, ORR_BAD_INPUT, "%s: unknown option --%s; did you mean --%s?", c->name, word,
                        near->name);
    return orr_fail(e, ORR_BAD_INPUT, "%s: unknown option --%s; see `orrery %s --help`", c->name, word,
                    c->name);
}

static bool has_value(const option *o) { return o->kind != FLAG && o->kind != JOB_FLAG; }

static bool store(const cli_subcommand *c, const option *o, char *value, cli_options *to, orr_err *e) {
    char *field = (char *)to + o->at, name[40];
    orr_err why = {0};
    switch (o->kind) {
    case FLAG: *(bool *)field = true; return true;
    case STRING: *(const char **)field = value; return true;
    default:
        snprintf(name, sizeof name, "%.*s", shown(o), o->name);
        return orr_options_set(to->job, name, o->kind == JOB_FLAG ? "yes" : value, &why) ||
               orr_fail(e, why.status, "%s: %s", c->name, why.text);
    }
}

// One word that starts with "-"; *i moves on when the value is the next word.
static bool parse_one(const cli_subcommand *c, int argc, char **argv, int *i, cli_options *to, orr_err *e) {
    char *word = argv[*i], *value = NULL;
    const option *o = NULL;
    char text[40];
    if (word[1] == '-') {
        char *equals = strchr(word, '=');
        size_t n = equals ? (size_t)(equals - word) - 2 : strlen(word) - 2;
        o = find(c, word + 2, n);
        if (!o || !takes(c, o)) {
            if (!o) return unknown(c, word + 2, n, e);
            return orr_fail(e, ORR_BAD_INPUT, "%s: takes no option --%.*s; see `orrery %s --help`", c->name,
                            shown(o), o->name, c->name);
        }
        if (equals) value = equals + 1;
        snprintf(text, sizeof text, "--%.*s", shown(o), o->name);
    } else {
        for (size_t k = 0; k < NOPTIONS; k++)
            if (options[k].letter && options[k].letter == word[1] && takes(c, &options[k])) o = &options[k];
        if (!o || (!has_value(o) && word[2]))
            return orr_fail(e, ORR_BAD_INPUT, "%s: unknown option %.40s; see `orrery %s --help`", c->name,
                            word, c->name);
        if (word[2]) value = word + 2;
        snprintf(text, sizeof text, "-%c", o->letter);
    }
    if (!has_value(o) && value) return orr_fail(e, ORR_BAD_INPUT, "%s: %s takes no value", c->name, text);
    if (has_value(o) && !value) {
        if (*i + 1 >= argc)
            return orr_fail(e, ORR_BAD_INPUT, "%s: %s needs a value: %s %s", c->name, text, text, o->value);
        value = argv[++*i];
    }
    return store(c, o, value, to, e);
}

// What the library tells while it works goes to standard error.
static void say_note(void *arg, const char *line) {
    (void)arg;
    fprintf(stderr, "orrery: %s\n", line);
}

// The line of progress on a terminal; stops the job after Ctrl-C.
static bool watch(void *arg, const orr_status *s) {
    static bool line;
    const cli_options *o = arg;
    return (o->out.quiet || orr_progress_line(&line, s)) && !cli_interrupted();
}

static void connect(cli_options *o) {
    if (o->out.json) orr_options_print(o->job, stderr); // standard output is for the result
    orr_options_watch(o->job, watch, o);
    if (!o->out.quiet) orr_options_notes(o->job, say_note, NULL);
}

static bool parse_words(const cli_subcommand *c, int argc, char **argv, cli_options *o, orr_err *e) {
    o->inputs = orr_calloc((size_t)argc + 1, sizeof *o->inputs);
    for (int i = 1; i < argc; i++) {
        char *word = argv[i];
        if (strcmp(word, "--") == 0 && strstr(c->takes, " -- ")) {
            o->rest = argv + i + 1;
            o->nrest = argc - i - 1;
            return true;
        } else if (strcmp(word, "--") == 0 && strstr(c->takes, " ! ")) {
            o->rest = argv + i + 1;
            o->nrest = argc - i - 1;
            return true;
        } else if (strcmp(word, "--") == 0) {
            while (++i < argc) o->inputs[o->ninputs++] = argv[i];
        } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            cli_help(stdout, c);
            bool bad = fflush(stdout) != 0 || ferror(stdout);
            cli_free(o);
            if (bad)
                return orr_fail(e, ORR_BAD_INPUT, "cannot write to standard output: %s", strerror(errno));
            exit(0);
        } else if (word[0] == '-' && word[1]) {
            if (!parse_one(c, argc, argv, &i, o, e)) return false;
        } else if (strstr(c->takes, " ! ")) { // a program and its own arguments
            o->rest = argv + i;
            o->nrest = argc - i;
            return true;
        } else {
            o->inputs[o->ninputs++] = word;
        }
    }
    return true;
}

bool cli_parse(const char *subcommand, int argc, char **argv, cli_options *o, orr_err *e) {
    const cli_subcommand *c = cli_find_subcommand(subcommand, e);
    *o = (cli_options){0};
    if (!c) return false;
    o->job = orr_options_new();
    if (!parse_words(c, argc, argv, o, e)) return false;
    connect(o);
    return true;
}

void cli_free(cli_options *o) {
    orr_options_free(o->job);
    free(o->inputs);
    *o = (cli_options){0};
}

// ---- help -----------------------------------------------------------------------------------
// Words, wrapped at 100 columns; `column` is where the first one goes.
static void wrapped(FILE *f, const char *text, int indent, int column) {
    for (const char *p = text; *p;) {
        int n = (int)strcspn(p, " ");
        if (column + 1 + n > 100) {
            fprintf(f, "\n%*s", indent, "");
            column = indent;
        } else if (p != text) {
            fputc(' ', f);
            column++;
        }
        fprintf(f, "%.*s", n, p);
        column += n;
        p += n;
        while (*p == ' ') p++;
    }
    fputc('\n', f);
}

static void help_of(FILE *f, const cli_subcommand *c) {
    fprintf(f, "usage: orrery %s %s\n\n", c->name, c->usage);
    for (const char *p = c->text; *p;) {
        char paragraph[1000];
        size_t n = strcspn(p, "\n");
        snprintf(paragraph, sizeof paragraph, "%.*s", (int)n, p);
        wrapped(f, paragraph, 0, 0);
        p += n + (p[n] == '\n');
    }
    fputs("\noptions:\n", f);
    for (size_t i = 0; i < NOPTIONS; i++) {
        const option *o = &options[i];
        if (!takes(c, o)) continue;
        char left[60];
        if (o->letter)
            snprintf(left, sizeof left, "-%c, --%s%s%s", o->letter, o->name, o->value ? " " : "",
                     o->value ? o->value : "");
        else
            snprintf(left, sizeof left, "--%.*s%s%s", shown(o), o->name, o->value ? " " : "",
                     o->value ? o->value : "");
        fprintf(f, "  %-22s  ", left);
        int column = strlen(left) > 22 ? (int)strlen(left) + 4 : 26;
        wrapped(f, o->help, 26, column);
    }
    fprintf(f, "  %-22s  %s\n", "-h, --help", "this");
    fputs("\nexamples:\n", f);
    for (const char *p = c->examples; *p;) {
        size_t n = strcspn(p, "\n");
        fprintf(f, "  %.*s\n", (int)n, p);
        p += n + (p[n] == '\n');
    }
}

void cli_help(FILE *f, const cli_subcommand *c) {
    if (c) {
        help_of(f, c);
        return;
    }
    fputs(
        "usage: orrery SUBCOMMAND [options] INPUT\n"
        "\n"
        "Orrery simulates GPUs: give it a kernel or a program and the description of a GPU, and it says how\n"
        "long that takes there and why.\n"
        "\n"
        "subcommands:\n",
        f);
    for (c = cli_subcommands; c->name; c++) fprintf(f, "  %-8s  %s\n", c->name, c->summary);
    fputs("  help      this, or `orrery help SUBCOMMAND`\n"
          "\n"
          "An INPUT is\n"
          "  the name of a bundled workload (`orrery list`), or a launch script (*.launch);\n"
          "  a module: PTX (*.ptx), machine code (*.cubin, a fatbin, a program or library that nvcc has "
          "made),\n"
          "  OpenCL C (*.cl), with --kernel, --grid, --block and --arg;\n"
          "  what was recorded (`orrery record`, `orrery app --record`) or captured on a GPU (`orrery "
          "capture`);\n"
          "  an Accel-Sim trace (kernelslist.g, *.traceg, *.traceg.xz);\n"
          "  a task list (*.tasks): an application that has not been written; --model partial or analytic.\n"
          "\n"
          "A --model is\n"
          "  functional  executes and counts, bit for bit;\n"
          "  cycle       simulates the GPU in time, after Accel-Sim (Khairy et al.): how long, and why;\n"
          "  abstract    characterises code once, after GATSim (Punniyamurthy et al.): for sweeps;\n"
          "  partial     some thread blocks stand for all, after PPT-GPU (Chapuis et al.): large grids;\n"
          "  analytic    works with counts and chances, after Gerum et al.: as fast as executing.\n"
          "--sample leaves out launches and thread blocks that are alike, after TBPoint (Huang et al.).\n"
          "\n"
          "Every subcommand has --help with examples that work when pasted in the source tree; `orrery\n"
          "--version` says which this is.\n"
          "Exit status: 0 done, 1 the simulated program failed, 2 bad input or usage, 4 slower than\n"
          "`orrery diff --fail-if` allows.\n",
          f);
}
