// Private to operators/: what readers of formats share.
#ifndef ORR_OPERATORS_READ_H
#define ORR_OPERATORS_READ_H

#include "operators/operators.h"

enum { MAX_OPERATORS = 1 << 24, MAX_DEPTH = 64 };

// ---- JSON (json.c) ------------------------------------------------------------------------------
typedef struct json {
    enum { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } type;
    const char *s; // of a string what is between the quotes, as written; of a number its digits
    uint32_t n;
    const char *key; // in an object, as written
    uint32_t nkey;
    struct json *child, *next;
} json;
json *json_parse(orr_arena *a, const char *path, const char *text, size_t n, orr_err *e);
const json *json_get(const json *object, const char *key); // NULL: there is none
double json_double(const json *v, double otherwise);
int64_t json_int(const json *v, int64_t otherwise);
bool json_is(const json *v, const char *text);
const char *json_text(orr_arena *a, const json *v); // with escapes done; NULL: it is no string

bool read_chakra(orr_operators *o, const uint8_t *data, size_t n, orr_err *e);
bool read_pytorch(orr_operators *o, const json *root, orr_err *e);
bool read_kineto(orr_operators *o, const json *root, orr_err *e);

// ---- adding (operators.c) -----------------------------------------------------------------------
orr_operator *read_add(orr_operators *o, uint64_t id, const char *name, int kind, orr_err *e);
void read_dep(orr_operators *o, uint64_t id); // of the last one that was added
// Of names as PyTorch and NCCL have them: "all_reduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"; false: it
// is none. kind is set to a collective, a send or a receive.
bool read_collective(const char *name, uint8_t *kind, uint8_t *what);
unsigned read_type_bytes(const char *type); // "float", "c10::Half"; 0: not known
// What process groups have as their description: a list of objects with names and ranks, as text.
void read_groups(orr_operators *o, const char *text, size_t n);
// Operations and bytes of an operator by its name and the shapes of its inputs.
void read_shapes(orr_operator *op, int ninputs, const int64_t (*shapes)[8], const int *dims,
                 const unsigned *bytes);

#endif
