// The platform of a cluster that was given as a file: its hosts, and whether SimGrid can use it.
#include "api/fabric.h"
#include "base/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool orr_fabric_put(const char *path, const orr_text *t, orr_err *e) {
    orr_out out;
    if (!orr_out_open(&out, path, e)) return false;
    fwrite(t->s, 1, t->n, out.f);
    return orr_out_commit(&out, e);
}

// The value of an attribute of an XML element that begins at `at`; "" when it has none.
static const char *attribute(orr_arena *a, const char *at, const char *name) {
    const char *end = strchr(at, '>');
    for (const char *p = at; p && (p = strstr(p, name)) && (!end || p < end); p++) {
        const char *eq = p + strlen(name);
        if (*eq != '=' || (eq[1] != '"' && eq[1] != '\'')) continue;
        const char *stop = strchr(eq + 2, eq[1]);
        return stop ? orr_arena_strndup(a, eq + 2, (size_t)(stop - eq - 2)) : "";
    }
    return "";
}

// Names of a platform's hosts: <host id="..."> and the members of <cluster prefix suffix radical="0-7">.
void orr_fabric_hosts(orr_arena *a, const char *xml, int most, orr_words *names) {
    for (const char *p = xml; (p = strchr(p, '<')) && (int)names->n < most; p++) {
        if (!strncmp(p, "<host ", 6)) *ORR_PUSH(names) = attribute(a, p, "id");
        if (strncmp(p, "<cluster ", 9) != 0) continue;
        const char *prefix = attribute(a, p, "prefix"), *suffix = attribute(a, p, "suffix");
        const char *list = attribute(a, p, "radical");
        while (*list) {
            char *end;
            long from = strtol(list, &end, 10), to = from;
            if (end == list) break;
            if (*end == '-') to = strtol(end + 1, &end, 10);
            for (long i = from; i <= to && (int)names->n < most; i++)
                *ORR_PUSH(names) = orr_arena_printf(a, "%s%ld%s", prefix, i, suffix);
            list = end + (*end == ',');
        }
    }
}

typedef struct asked { // paths of files
    orr_arena *arena;
    const char *temp, *platform, *hosts, *said, *told;
} asked;

// Runs smpirun with our player, which asks for the ways between hosts (mpi/play_routes.c). What it says is in
// the files `said`, of SimGrid, and `told`, of the player.
static bool ask(const orr_options *o, const asked *q, orr_err *e) {
    orr_arena *a = q->arena;
    const char *player = orr_app_player(a, e);
    const char *const more[] = {"ORRERY_APP_CLUSTER=1", orr_arena_printf(a, "ORRERY_APP_ROUTES=%s", q->told),
                                NULL};
    char **env = player ? orr_app_cluster_environment(player, o, q->temp, more, e) : NULL;
    if (!env) return false;
    const char *const argv[] = {"smpirun",
                                "-np",
                                "1",
                                "-hostfile",
                                q->hosts,
                                "-platform",
                                q->platform,
                                orr_arena_printf(a, "--cfg=smpi/tmpdir:%s", q->temp),
                                "--cfg=smpi/privatization:no",
                                "--log=root.thresh:error",
                                "--log=root.fmt:%m%n",
                                player,
                                NULL};
    posix_spawn_file_actions_t to;
    pid_t pid;
    int status;
    posix_spawn_file_actions_init(&to);
    posix_spawn_file_actions_addopen(&to, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&to, STDERR_FILENO, q->said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int why = posix_spawnp(&pid, argv[0], &to, NULL, (char *const *)argv, env);
    posix_spawn_file_actions_destroy(&to);
    free(env);
    if (why) return orr_fail(e, ORR_BAD_INPUT, "%s: %s", argv[0], strerror(why));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    return true;
}

bool orr_fabric_check(const orr_options *o, const char *temp, const char *path, const orr_words *names,
                      orr_err *e) {
    static const char bad[] = "Parse error at ";
    orr_arena a = {0};
    orr_text list = {0};
    asked q = {.arena = &a,
               .temp = temp,
               .platform = path,
               .hosts = orr_arena_printf(&a, "%s/first", temp),
               .said = orr_arena_printf(&a, "%s/said", temp),
               .told = orr_arena_printf(&a, "%s/told", temp)};
    for (size_t i = 0; i < names->n; i++) orr_text_add(&list, "%s\n", names->at[i]);
    if (!names->n) orr_text_add(&list, "none\n");
    if (orr_fabric_put(q.hosts, &list, e) && orr_fabric_put(q.told, &list, e) && ask(o, &q, e)) {
        orr_err none = {0};
        size_t n = 0, nsaid = 0;
        char *said = orr_read_file(q.said, 1 << 20, &nsaid, &none), *at = said ? strstr(said, bad) : NULL;
        char *told = orr_read_file(q.told, 1 << 20, &n, &none);
        if (at) { // FILE:LINE: what is wrong
            at += sizeof bad - 1;
            orr_fail(e, ORR_BAD_INPUT, "%.*s (so says SimGrid)", (int)strcspn(at, "\n"), at);
        } else if (told && strncmp(told, "ok", 2) != 0 && names->n) {
            bool ours = !strncmp(told, "no ", 3);
            const char *text = ours ? told : said && *said ? said : "it ended before it had read it";
            orr_fail(e, ORR_BAD_INPUT, "%s: %.*s%s", path, (int)strcspn(text, "\n"), text,
                     ours ? "" : " (so says SimGrid)");
        }
        free(said);
        free(told);
    }
    free(list.s);
    orr_arena_free(&a);
    return !e->status;
}
