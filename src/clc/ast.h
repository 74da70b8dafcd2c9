// Private to clc/: clang's syntax tree of a program (-ast-dump=json), as far as annotating needs it.
#ifndef ORR_CLC_AST_H
#define ORR_CLC_AST_H

#include "base/base.h"

typedef struct clc_node {
    const char *kind;    // "IfStmt", "FunctionDecl", ...; NULL: an empty place, as a for without a condition
    const char *name;    // of a declaration, or of what a reference names
    uint32_t begin, end; // bytes of the file: its first, and the first behind its last token
    bool here;           // both are in the file itself, not in a macro or in what it includes
    bool nearby;         // or where macros of the file are used
    bool has_else;
    struct clc_node **inner;
    uint32_t ninner;
} clc_node;

// NULL: it is not such a tree, or deeper than 400 levels; e says so. `path` is the file whose nodes are
// `here`.
clc_node *clc_read_ast(const char *text, size_t n, const char *path, orr_arena *a, orr_err *e);

#endif
