// A node: several GPUs in one machine, and what connects them.
//
// A description is a text file, nodes/NAME.conf, with lines of `key = value unit  # evidence`, as those of
// GPUs (gpu/gpu.h); params.def lists every key. It may begin with `inherit = "family/NAME"`.
//
// Links. A copy goes over a path of links, each with a bandwidth. It begins when what it waits for is done
// and every link of its path is free, runs at the slowest link's bandwidth, and keeps each link for as long
// as its bytes take on that link alone. Copies that share a link thus follow each other on it: two of the
// same size, asked for together, are done when two that share it evenly would be, the first one earlier.
#ifndef ORR_NODE_H
#define ORR_NODE_H

#include "gpu/gpu.h"

enum { ORR_NVLINK_NONE, ORR_NVLINK_SWITCH, ORR_NVLINK_MESH, ORR_NVLINK_PAIRS };

enum {
#define PARAM ORR_GPU_ONE
    ORR_NODE_PARAMS = 0
#include "node/params.def"
#undef PARAM
};

typedef struct orr_node {
    const char *name; // "dgx_h200"
    const char *path;
#define PARAM ORR_GPU_FIELD
#include "node/params.def"
#undef PARAM
    orr_gpu_origin origin[ORR_NODE_PARAMS];
    orr_arena arena;
} orr_node;

// By name, or by path when it has a slash or ends in .conf. Names are looked for in nodes/ beside gpus/.
orr_node *orr_node_load(const char *name_or_file, orr_err *e);
// The same from text; `path` is for messages and for what it inherits. The text need not end in 0.
orr_node *orr_node_parse(const char *path, const char *text, size_t n, orr_err *e);
void orr_node_free(orr_node *n);
char **orr_node_list(int *n); // names, sorted; free with orr_gpu_list_free
void orr_node_print(const orr_node *n, orr_text *out);
void orr_node_json(const orr_node *n, orr_text *out);
void orr_node_print_keys(orr_text *out); // a Markdown table, that of docs/guides/nodes.md
void orr_node_json_keys(orr_text *out);

// ---- links --------------------------------------------------------------------------------------
enum { ORR_NODE_HOST = -1, ORR_PATH_LINKS = 8 };
typedef struct orr_path {
    int n, link[ORR_PATH_LINKS];
    double bandwidth[ORR_PATH_LINKS]; // GB/s: bytes a ns
    double latency;                   // ns
} orr_path;
// From the memory of a GPU (or ORR_NODE_HOST: that of its own socket) to that of another.
void orr_node_path(const orr_node *n, int from, int to, orr_path *p);
void orr_node_staged(const orr_node *n, int from, int to, orr_path *p); // from GPU to GPU by host memory
double orr_path_bandwidth(const orr_path *p);                           // of the slowest link
bool orr_node_peers(const orr_node *n, int a, int b);                   // they reach each other's memory
bool orr_node_nvlinked(const orr_node *n, int a, int b);
int orr_node_socket(const orr_node *n, int gpu);
int orr_node_links(const orr_node *n); // how many there are: the numbers in orr_path.link are below it

// When a copy of so many bytes over the path begins, asked for at `ready`; `*end` is when it ends. `free_at`
// has one time for each link and is brought up to date.
double orr_path_copy(const orr_path *p, double *free_at, double ready, uint64_t bytes, double *end);

#endif
