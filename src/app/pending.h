// What streams have been asked for and have not done: the host goes on, as beside a GPU. Private to app/.
//
// Operations are done when the program asks for them (run.c). Three kinds cannot be, since what they wait for
// may be asked for later by the same thread: kernels that poll what another GPU or the host writes, NCCL in a
// graph, which waits for the other ranks' graphs, and whatever comes behind one of those, in its stream or by
// an event. They are kept in order, stream by stream, and each stream that has some does them on a stack of
// its own: one goes on until it waits, then another has its turn. They are done when the host waits for them;
// NCCL as far as it can be at once.
//
// Kernels that are executed as they are timed (exec/step.h) have their turns in the order of simulated time,
// a window each: what one GPU writes another sees when it would. All others have turns whenever their thread
// blocks have gone round once.
//
// While one goes on the host's clock is that of the call that asked for it, and what a model keeps from
// launch to launch is its device's own.
#ifndef ORR_APP_PENDING_H
#define ORR_APP_PENDING_H

#include "app/app.h"

int app_pending_submit(app_stream *s, const app_call *c); // does it now, or keeps it; copies *c
// Until the stream, all streams of a device, or all of them have done what they were asked for. Nothing where
// one of them is at work itself.
void app_pending_finish(const app_stream *s);
void app_pending_finish_device(int index);
void app_pending_finish_all(void);
bool app_pending_blocks(const app_stream *s); // something has not been done that what comes next waits for
bool app_pending_try(const app_stream *s);    // it need not wait for long: has it?
void app_pending_end(void);                   // the program ends: as far as they come
bool app_pending_go(bool at_once); // one goes on; false: all wait. at_once: of those that need not wait
bool app_pending_here(void);       // this is one of them at work
int app_pending_rank(void);        // that asked for it; -1: it is none of them
// To be called by one of them: others have their turns until it is true.
void app_pending_until(bool (*ready)(const void *), const void *arg);
bool app_pending_turn(double ns);           // orr_launch.turn
bool app_pending_beside(void);              // another one is under way
bool app_pending_uses(const app_event *ev); // one of them will record it or wait for it

#endif
