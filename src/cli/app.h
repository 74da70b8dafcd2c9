// Private to cli/: an unmodified program, started with one of our libraries under it (app, cl).
#ifndef ORR_CLI_APP_H
#define ORR_CLI_APP_H

#include "cli/cli.h"

// Checks the options, leaves them in the environment, has the library put under the program by `prepare`, and
// becomes the program (or, with --sample, runs it and looks at what it recorded).
int cli_program(cli_options *o, const char *command, const char *example,
                bool (*prepare)(cli_options *o, orr_arena *a, orr_err *e), orr_err *e);
// The folder NAME with LIBRARY in it: as the variable says, beside the command, or where it is installed.
const char *cli_library_folder(orr_arena *a, const char *name, const char *library, const char *variable, orr_err *e);
void cli_in_front(orr_arena *a, const char *variable, const char *dir); // of a list with colons

#endif
