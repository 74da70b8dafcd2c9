// Private to launch/: the parser's state, shared by lex.c (tokens), expr.c (expressions) and parse.c
// (statements).
#ifndef ORR_LAUNCH_PARSE_H
#define ORR_LAUNCH_PARSE_H

#include "launch/script.h"

enum { // tokens; punctuation of one character is itself
    T_EOF = 256,
    T_EOL,
    T_NAME,
    T_INT,
    T_FLOAT,
    T_STRING,
    T_SHL,
    T_SHR,
    T_LE,
    T_GE,
    T_EQ,
    T_NE,
    T_ANDAND,
    T_OROR,
};

typedef struct token {
    int kind, line;
    const char *s; // the characters; a string's contents (in the arena)
    size_t n;
    bool space_before, space_after;
    value v; // of a number
} token;

typedef struct parser {
    orr_script *s;
    orr_err *e;
    jmp_buf out;
    const char *at, *end;
    int line;
    token t;       // the next token
    int depth;     // of parentheses
    int nesting;   // of statements
    bool in_fill;  // `i` is the element's index
    bool operands; // " -1" starts an operand of its own (see orr_expr_operand)
} parser;

_Noreturn void orr_parse_bad(parser *p, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define bad orr_parse_bad

void orr_lex(parser *p); // the next token into p->t
bool orr_lex_word(const parser *p, const char *word);
bool orr_lex_take(parser *p, int kind); // and go on, if it is next
bool orr_lex_take_word(parser *p, const char *word);
void orr_lex_need(parser *p, int kind, const char *what);
const char *orr_lex_text(const token *t, char buf[48]); // for messages

expr *orr_expr(parser *p);
expr *orr_expr_operand(parser *p);
int orr_name_find(const parser *p, const char *s, size_t n); // slot, or -1

#endif
