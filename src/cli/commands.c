// The subcommands and what --help says of them.
#include "cli/cli.h"

#include <string.h>

#define INPUT_OPTIONS " size source set kernel grid block shared arg global local build "
// Examples are pasted by tests/test_examples.sh, but for those behind a line that ends in a colon.
#define WITH_YOUR_FILES "with files of yours:\n"
#define DIRECT_EXAMPLE                                                                                       \
    "--kernel saxpy --grid 4096 --block 256 \\\n    --arg i32:1048576 --arg f32:2.5 --arg "                  \
    "buf:f32:1048576:random --arg buf:f32:1048576:random"

const cli_subcommand cli_subcommands[] = {
    {"run", cli_run,
     " gpu model flush budget on kernels launches threads max-insts counts-only lines timeline latencies "
     "stats "
     "check "
     "no-check digests json "
     "sample profile warm: precision range html output quiet" INPUT_OPTIONS,
     "[options] INPUT", "execute an INPUT and report what it did",
     "Executes the launches of INPUT on the CPU, compares buffers with what the script expects, and reports "
     "for each kernel: instruction mix, divergence, coalescing, bytes by memory space, branches and "
     "barriers. With --model cycle it simulates the GPU: how long each kernel takes, what bounds it, how "
     "busy each part is and what warps wait for.",
     "orrery run saxpy\n"
     "orrery run saxpy --gpu h200 --model cycle --timeline saxpy.json\n"
     "orrery run bfs --lines\n"
     "orrery run bfs --gpu h200 --budget 10s\n"
     "orrery run reduce --gpu h200 --model cycle --html reduce.html\n"
     "orrery run saxpy --gpu k40,v100,h200\n"
     "orrery run saxpy --source ptx --set n=65536 --json\n" WITH_YOUR_FILES
     "orrery run my.launch --size medium --model abstract\n"
     "orrery run plan.tasks --model partial --gpu b200\n"
     "orrery run traces/kernelslist.g --kernels '*gemm*' --launches 0-9\n"
     "orrery run saxpy.cubin " DIRECT_EXAMPLE "\n"
     "orrery run k.cl --kernel scale --global 4096 --local 256 --build \"-D N=4\" --arg buf:f32:4096:iota"},
    {"page", cli_page, " output quiet ", "REPORT.json... -o PAGE.html",
     "make a page for the browser of kept reports",
     "Makes one self-contained page of kept reports (`orrery run --lines --json`, and those of app, compare, "
     "correlate, explain, sample and sweep): kernels by time, and for each the verdict, where warp cycles "
     "went, a roofline, traffic between memories, the course of time, source and machine code. Several "
     "reports are shown next to each other. `orrery run --html` makes the same page at once, with the source "
     "in it.",
     "orrery run transpose_naive --model cycle --lines --json -o before.json\n"
     "orrery run transpose_tiled --model cycle --lines --json -o after.json\n"
     "orrery page before.json after.json -o page.html"},
    {"record", cli_record, " gpu on threads max-insts no-check format output quiet" INPUT_OPTIONS,
     "[options] INPUT -o FILE", "write an INPUT's streams to a file",
     "Executes INPUT and writes what every warp did (blocks of code, active masks, addresses) to a "
     "compressed file that is replayed without the program or its data. With --format accel-sim, to a folder "
     "with kernelslist.g and traces that Accel-Sim runs: the code as lowered for --gpu. INPUT may then also "
     "be a folder of streams (orrery app --record) or a capture.",
     "orrery record bfs -o bfs.orr\n"
     "orrery run bfs.orr --gpu v100 --model cycle\n"
     "orrery record saxpy --gpu v100 --format accel-sim -o traces\n" WITH_YOUR_FILES
     "orrery record streams --gpu v100 --format accel-sim -o traces\n"
     "orrery record my.launch --size medium -o my.orr"},
    {"app", cli_app,
     " gpu node model flush on set source kernels launches threads max-insts bounds clock counts-only "
     "sample precision "
     "warm: "
     "record format lines timeline json html output quiet "
     "! ",
     "[options] PROGRAM [ARGUMENTS]", "run an unmodified CUDA program on a simulated GPU",
     "Runs a program that was built with `nvcc -cudart shared`, without a GPU: kernels execute on the CPU, "
     "from machine code for --gpu or else PTX, and each launch is timed by --model (cycle unless you say "
     "otherwise; abstract is faster). Its events tell simulated time, its device queries the simulated GPU. "
     "The report goes to standard error or to --output; with --json alone standard output is nothing but "
     "JSON, and what the program prints goes to standard error.",
     "with programs of yours:\n"
     "orrery app ./vectorAdd\n"
     "orrery app --gpu h200 --timeline run.json ./matrixMul -wA=512 -hA=512\n"
     "orrery app --node dgx_h200 ./simpleMultiGPU\n"
     "orrery app --lines --json -o run.json ./matrixMul\n"
     "orrery app --gpu v100 --record traces --format accel-sim ./vectorAdd\n"
     "orrery app --model abstract --kernels 'bfs*' --launches 3-7 ./bfs graph.txt"},
    {"cluster", cli_cluster,
     " ranks per-node node platform host alike times gpu model set source kernels launches threads max-insts "
     "bounds "
     "timeline json output quiet ! ",
     "[options] -n N PROGRAM [ARGUMENTS]", "run an unmodified MPI program with CUDA on a simulated cluster",
     "Runs a program that was linked with SimGrid's smpicc or smpicxx (docs/guides/cluster.md) as N ranks on "
     "nodes of --node, connected by --platform: SimGrid's network times messages, --model kernels (partial "
     "unless you say otherwise). The report tells the time of ranks, kernels and MPI calls, and what bounds "
     "the run; --timeline shows all ranks.",
     "with an MPI program of yours:\n"
     "orrery cluster -n 16 --node dgx_h200 ./jacobi\n"
     "orrery cluster -n 1024 --platform fat-tree:2 --alike time --json -o run.json ./jacobi 4096"},
    {"capture", cli_capture,
     " kernels launches range measure metrics memory all-memory inputs-only sample quiet output ! ",
     "[options] -o DIR PROGRAM [ARGUMENTS]",
     "keep a program's launches on a real GPU, to replay them anywhere",
     "Runs any CUDA program on this machine's GPU (also with cuBLAS, PyTorch, Triton) and writes each launch "
     "to DIR: machine code, parameters, memory before and after. `orrery run DIR` executes them without a "
     "GPU, at the same addresses, times them and compares memory bit for bit. Needs CUPTI, which comes with "
     "CUDA and with PyTorch.",
     "on a machine with a GPU:\n"
     "orrery capture -o step python3 train.py\n"
     "orrery capture --kernels '*gemm*' --launches 0-99 -o gemms ./program\n"
     "orrery run gemms --gpu h200 --model cycle"},
    {"cl", cli_cl,
     " gpu model set annotate source kernels launches threads max-insts bounds counts-only sample precision "
     "warm: record "
     "lines "
     "timeline json html output quiet "
     "! ",
     "[options] PROGRAM [ARGUMENTS] | annotate FILE.cl -o FILE",
     "run an unmodified OpenCL program on a simulated GPU",
     "Runs a program that uses OpenCL through the ICD loader, which finds one device, --gpu. clang and "
     "libclc compile its kernels, they execute on the CPU, and each launch is timed by --model (cycle unless "
     "you say otherwise). Its events tell simulated time. The report goes to standard error or to --output; "
     "with --json alone standard output is nothing but JSON, and what the program prints goes to standard "
     "error.\n"
     "With --annotate the program runs on the device it has: kernels get counters, and the analytic model "
     "predicts from those what --gpu would take. `cl annotate` writes such a source.",
     "with programs of yours:\n"
     "orrery cl clinfo\n"
     "orrery cl --gpu h200 --model cycle ./vector_add\n"
     "orrery cl --model cycle --kernels 'gemm*' --lines --json -o run.json ./blas\n"
     "orrery cl --annotate --gpu gtx480 ./vector_add\n"
     "orrery cl annotate k.cl -o k.annotated.cl"},
    {"info", cli_info, " json quiet ", "[options] FILE", "say what is in a stream file, a trace or a capture",
     "Reads a recorded file to its end, checks every section, and lists its kernels and launches. A damaged "
     "file is named with the place of the damage. Of an Accel-Sim trace (kernelslist.g) it lists what the "
     "headers say, of a capture its launches.",
     "orrery record bfs -o bfs.orr\n"
     "orrery info bfs.orr\n"
     "orrery info --json bfs.orr\n" WITH_YOUR_FILES "orrery info traces/kernelslist.g"},
    {"gpu", cli_gpu, " evidence names set json block shared regs barriers output quiet ",
     "list | keys | show NAME|FILE | occupancy NAME|FILE | import CONFIG [TRACE_CONFIG] -o FILE",
     "the GPU descriptions",
     "`gpu list` names the GPUs that come with Orrery; `gpu show` prints one with units and sources, with "
     "--evidence why each value is what it is (published, measured, chosen, assumed, inherited); `gpu "
     "occupancy` says how many blocks of a kernel one SM holds; `gpu keys` lists what a description can say; "
     "`gpu import` makes one from gpgpusim.config and trace.config of GPGPU-Sim and Accel-Sim, and says "
     "which of their options it could not use.",
     "orrery gpu list\n"
     "orrery gpu show h200\n"
     "orrery gpu show h200 --evidence\n"
     "orrery gpu occupancy h200 --block 256 --regs 64 --shared 16384\n"
     "orrery gpu show h200 --set sm.count=66 --json\n" WITH_YOUR_FILES
     "orrery gpu import gpgpusim.config trace.config -o my.conf"},
    {"node", cli_node, " json output quiet ", "list | keys | show NAME|FILE",
     "the descriptions of machines with several GPUs",
     "`node list` names the machines that come with Orrery, for `orrery app --node` and `orrery cluster`; "
     "`node show` prints one with units and why each value is what it is; `node keys` lists what a "
     "description can say.",
     "orrery node list\n"
     "orrery node show dgx_h200"},
    {"hw", cli_hw, " all repeat no-check digests json log warm metrics output quiet" INPUT_OPTIONS,
     "run [options] INPUT... | profile [options] INPUT... -o FILE | micro [-o FILE]",
     "run launch scripts on the GPU of this machine",
     "`hw run` runs the same launch scripts on a real GPU through the CUDA driver (libcuda.so.1), compares "
     "buffers and prints how long each launch took.\n"
     "`hw profile` runs them under Nsight Compute (ncu) and writes a row of CSV for each launch, for `orrery "
     "correlate`: shape, clocks, driver and all that models predict; with --repeat N cycles and time N "
     "times.\n"
     "`hw micro` runs the microbenchmarks and writes what they found, for `orrery tune`.",
     "on a machine with a GPU:\n"
     "orrery hw run saxpy --size medium\n"
     "orrery hw run saxpy bfs sgemm_tiled --repeat 10 --json\n"
     "orrery hw run --all --size medium\n"
     "orrery hw profile --all --size small --repeat 3 -o small.csv\n"
     "orrery hw profile my.launch --warm -o my.csv\n"
     "orrery hw micro --repeat 5 -o findings.csv"},
    {"correlate", cli_correlate, " json html csv output quiet -- ",
     "[options] HARDWARE.csv... [-- RUN OPTIONS]", "how near a model comes to what a GPU measured",
     "Simulates what was measured (`orrery hw profile`) and compares, for each kernel and counter: signed "
     "error, mean absolute percentage error (MAPE), the weighted one, correlation, normalised RMSE, the "
     "share within 10 %, the five furthest off. What follows -- are options of `orrery run` (--gpu, --model, "
     "--set, --threads, --kernels, --no-check); --size and names of scripts choose among the measurements. "
     "Without --model it is cycle. Caches are flushed before a kernel where they were on the GPU.",
     "orrery correlate hardware/h200/workloads.csv --html h200.html -- --gpu h200 --size small saxpy bfs\n"
     "all of them takes minutes:\n"
     "orrery correlate hardware/h200/workloads.csv --json -- --gpu h200 --size small --threads "
     "8\n" WITH_YOUR_FILES
     "orrery correlate mine.csv --csv points.csv -- --gpu h200 --set l2.latency=280 saxpy bfs"},
    {"tune", cli_tune, " output log without threads source quiet ",
     "[options] FINDINGS.csv [HARDWARE.csv...]", "a GPU's description from what microbenchmarks found on it",
     "Makes a description of what `orrery hw micro` found, with the source of each value. With measurements "
     "of the same benchmarks (`orrery hw profile micro/... --size quick`) it also has a launch's cost, and "
     "simulates each choice of what cannot be read off (who issues first, how addresses are spread, the "
     "order of memory accesses) and takes the nearest. A reading that no hardware can have is refused with a "
     "line, and the family's value stays.",
     "orrery tune hardware/h200/micro.csv -o my.conf\n"
     "orrery run saxpy --gpu my.conf --model cycle\n"
     "choices that are tried in simulation take minutes:\n"
     "orrery tune hardware/h200/micro.csv hardware/h200/micro_profile.csv hardware/h200/micro_sectors.csv -o "
     "my.conf"},
    {"sweep", cli_sweep,
     " vary gpu model on mpi shard merge slurm workers latencies kernels launches threads max-insts no-check "
     "json html csv plot output "
     "quiet" INPUT_OPTIONS,
     "[options] INPUT --vary KEY=VALUES ...", "an INPUT on a grid of GPU descriptions",
     "Runs the launches of INPUT on every combination of the values that are varied. INPUT is executed once; "
     "the points replay it, each on one host thread, with --model abstract unless you say otherwise. Keys "
     "joined by + change together. Results are kept in an SQLite file (-o; default NAME.sweep.sqlite), a "
     "transaction a point: a sweep that was stopped goes on where it was, and a larger one simulates what is "
     "new. A point that fails is kept with its message.",
     "orrery sweep sgemm_tiled --vary sm.count=66:132:33 --vary core.schedulers+core.subcores=2,4\n"
     "orrery sweep saxpy --vary n=4096:65536:*4 --vary core.policy=gto,lrr --json\n"
     "minutes:\n"
     "orrery sweep bfs --size medium --vary l2.size=10MB:50MB:10MB --model cycle -o bfs.sqlite\n"
     "sqlite3 bfs.sqlite 'SELECT * FROM sweep_1 ORDER BY cycles LIMIT 5'"},
    {"explain", cli_explain,
     " gpu on kernels launches threads max-insts no-check json html output quiet" INPUT_OPTIONS,
     "[options] INPUT", "what would help: an INPUT with one thing ideal at a time",
     "Executes INPUT once and times it (model cycle) as it is and with one thing ideal at a time: no latency "
     "of L2, twice the bandwidth, no waits at barriers, a source line's accesses coalesced or without bank "
     "conflicts. Says what each is worth for the kernel and on which lines, which two hide each other, and "
     "what to do.",
     "orrery explain transpose_naive\n"
     "orrery explain saxpy --gpu v100 --source ptx\n"
     "half a minute:\n"
     "orrery explain sgemm_naive --set n=128 --json"},
    {"diff", cli_diff,
     " gpu model second fail-if kernels launches threads max-insts no-check json html output "
     "quiet" INPUT_OPTIONS,
     "[options] A B", "two runs: where the time went, by cause and by line",
     "Runs A and B (without --model: cycle) and says how the time differs: by kernel, by what warps waited "
     "for, by source line. Each is an INPUT or a kept report (`orrery run --lines --json -o a.json`). "
     "--second gives an option to the second alone: another GPU, model, source or setting. With --fail-if "
     "\"slower 5%\" the exit status is 4 when B takes more than 5 % longer.",
     "orrery diff transpose_naive transpose_tiled\n"
     "orrery diff saxpy saxpy --second gpu=v100 --json\n"
     "orrery diff saxpy saxpy --second source=ptx --fail-if \"slower 50%\""},
    {"compare", cli_compare,
     " gpu model on latencies kernels launches threads max-insts all hardware warm json html csv output "
     "quiet" INPUT_OPTIONS,
     "[options] INPUT...", "all models on an INPUT, side by side",
     "Runs every model that predicts time and prints for each kernel: cycles, how far they are from the "
     "cycle model's and from what a real GPU measured, where that is known, and the time on the host; with "
     "several INPUTs also averages. --model NAME,NAME... takes some of the models. Caches are flushed before "
     "a kernel where they were on the GPU; --warm takes measurements that were not.",
     "orrery compare saxpy --gpu h200\n"
     "orrery compare saxpy bfs --gpu k40,v100,h200 --model analytic,abstract\n"
     "a minute:\n"
     "orrery compare --all --size small --threads 1 --csv models.csv\n" WITH_YOUR_FILES
     "orrery compare my.launch --hardware mine.csv --model cycle,abstract --json"},
    {"sample", cli_sample,
     " gpu on threads max-insts no-check json html csv plot profile piece full precision output "
     "quiet" INPUT_OPTIONS,
     "model | profile [options] INPUT | study [options] INPUT...",
     "what sampling (run --sample) rests on, and how well it does",
     "`sample model` draws how much the IPC of warps that stall at random varies: a Markov chain for 10,000 "
     "draws of the stall times (figure 5 of the TBPoint paper).\n"
     "`sample profile` executes INPUT and lists what its launches did and which stand for which; with "
     "--profile it writes what `run --sample --profile` reads.\n"
     "`sample study` simulates each INPUT in full and sampled, and says how far off and how large the "
     "samples are, beside a random tenth and SimPoint.",
     "orrery sample model --plot figure5.svg --csv figure5.csv\n"
     "orrery sample profile bfs --profile bfs.profile\n"
     "orrery run bfs --gpu h200 --model cycle --sample --profile bfs.profile\n"
     "a minute:\n"
     "orrery sample study bfs hotspot --gpu fermi_tbpoint"},
    {"list", cli_list, " names json quiet ", "[options]", "the bundled workloads",
     "Names the workloads that come with Orrery, with their sizes.",
     "orrery list\n"
     "orrery list --json"},
    {"show", cli_show,
     " kernel timed ptx tasks gpu set build json quiet size source kernels launches grid block shared arg "
     "threads ",
     "[options] MODULE | --tasks INPUT", "a kernel as Orrery sees it",
     "Prints the kernels of a module, PTX or machine code: basic blocks, successors, post-dominators, "
     "registers, shared memory. --timed prints the machine instructions that --gpu is taken to run, --ptx a "
     "PTX module as PTX again, --tasks what the launches of an INPUT do, executed once, as a task list that "
     "can be edited and run.",
     "orrery show workloads/saxpy/saxpy.ptx\n"
     "orrery show workloads/sgemm_tiled/sgemm_tiled.cubin --kernel sgemm_tiled\n"
     "orrery show workloads/saxpy/saxpy.ptx --timed --gpu v100\n"
     "orrery show workloads/saxpy/saxpy.ptx --ptx\n"
     "orrery show hotspot --size small --tasks > hotspot.tasks"},
    {"disasm", cli_disasm, " kernel arch images dump raw json quiet ", "[options] FILE",
     "the machine code of a cubin, program or library",
     "Prints the machine code in FILE (a cubin, a fatbin, or a program, library or object of nvcc) as "
     "nvdisasm does. Beside each instruction is its control word: barriers it waits for, barriers set when "
     "sources are read (R) and when results are there (W), yield, stall count; between them source lines, "
     "where compiled with -lineinfo or -G. --json gives the same as one array of functions; --dump writes "
     "the code itself, for other tools (nvdisasm -b SM90 FILE), and --raw reads such a file.",
     "orrery disasm workloads/saxpy/saxpy.cubin\n"
     "orrery disasm --json workloads/saxpy/saxpy.cubin\n" WITH_YOUR_FILES
     "orrery disasm a.out --arch sm_90 --kernel saxpy\n"
     "orrery disasm libcublas.so --arch sm_90 --images 5 --dump code\n"
     "orrery disasm --raw --arch sm_90 code/00001.sm_90.bin"},
    {0}};

const cli_subcommand *cli_find_subcommand(const char *name, orr_err *e) {
    const cli_subcommand *near = NULL;
    int best = 3;
    for (const cli_subcommand *c = cli_subcommands; c->name; c++) {
        if (strcmp(c->name, name) == 0) return c;
        int d = cli_distance(name, c->name);
        if (d < best && d < (int)strlen(name)) {
            best = d;
            near = c;
        }
    }
    if (near)
        orr_fail(e, ORR_BAD_INPUT, "unknown subcommand \"%.60s\"; did you mean `orrery %s`?", name,
                 near->name);
    else
        orr_fail(e, ORR_BAD_INPUT, "unknown subcommand \"%.60s\"; see `orrery help`", name);
    return NULL;
}
