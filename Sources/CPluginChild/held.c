#define _GNU_SOURCE
#include "confinement.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// Most files and bytes of the working folder.
static const uint64_t folder_files = 4096, folder_bytes = 256 << 20;

// The most processes that are looked at, and the most descendants whose children are.
enum { most_processes = 65536, most_descendants = 4096 };

struct process {
    pid_t id, parent;
    bool is_ours;
};

// Reads a small file of /proc; returns false if it is gone.
static bool read_text(const char *path, char *text, size_t size) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t count = read(file, text, size - 1);
    close(file);
    text[count > 0 ? count : 0] = 0;
    return count > 0;
}

static uint64_t kilobytes(const char *status, const char *field) {
    const char *place = strstr(status, field);
    return place ? strtoull(place + strlen(field), NULL, 10) : 0;
}

// Deleted files that the process has open.
static uint64_t deleted_bytes(pid_t id) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd", id);
    DIR *folder = opendir(path);
    if (!folder) return 0;
    uint64_t bytes = 0;
    struct stat status;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (fstatat(dirfd(folder), entry->d_name, &status, 0) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0)
            bytes += 512 * (uint64_t)status.st_blocks;
    }
    closedir(folder);
    return bytes;
}

// Marks the descendants of this process, generation by generation.
static void mark(struct process *list, size_t count) {
    pid_t parents[most_descendants] = {getpid()};
    size_t known = 1;
    for (size_t next = 0; next < known; next++) {
        for (size_t place = 0; place < count; place++) {
            if (list[place].is_ours || list[place].parent != parents[next]) continue;
            list[place].is_ours = true;
            if (known < most_descendants) parents[known++] = list[place].id;
        }
    }
}

// The processes that /proc shows, with those marked that descend from this one. If /proc belongs to the plugin's namespace, it
// shows no others.
static size_t find(struct process **found) {
    DIR *folder = opendir("/proc");
    if (!folder) return 0;
    bool all = access("/proc/self", F_OK) != 0;
    size_t count = 0, room = 64;
    struct process *list = malloc(room * sizeof *list);
    for (struct dirent *entry; list && count < most_processes && (entry = readdir(folder));) {
        pid_t id = atoi(entry->d_name);
        char path[64], text[512];
        if (id <= 0) continue;
        snprintf(path, sizeof path, "/proc/%d/stat", id);
        if (!read_text(path, text, sizeof text)) continue;
        // The name may have parentheses and spaces; the last one closes it.
        char *name = strrchr(text, ')');
        if (!name || strlen(name) < 4) continue;
        if (count == room) {
            struct process *more = realloc(list, 2 * room * sizeof *list);
            if (!more) break;
            list = more;
            room *= 2;
        }
        list[count++] = (struct process){.id = id, .parent = atoi(name + 4), .is_ours = all};
    }
    closedir(folder);
    if (list && !all) mark(list, count);
    *found = list;
    return list ? count : 0;
}

uint64_t plugin_child_bytes_held(void) {
    struct process *found = NULL;
    size_t count = find(&found);
    uint64_t bytes = 0;
    for (size_t place = 0; place < count; place++) {
        char path[64], text[4096];
        if (!found[place].is_ours) continue;
        snprintf(path, sizeof path, "/proc/%d/status", found[place].id);
        if (!read_text(path, text, sizeof text)) continue;
        bytes += 1024 * (kilobytes(text, "RssAnon:") + kilobytes(text, "RssShmem:")) + deleted_bytes(found[place].id);
    }
    free(found);
    return bytes;
}

// Whether the process has mapped a deleted file of the folder: no descriptor leads to its bytes.
static bool maps_deleted_file(pid_t id, const char *folder) {
    char path[64], *line = NULL;
    size_t room = 0, length = strlen(folder);
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", id);
    FILE *maps = fopen(path, "re");
    if (!maps) return false;
    while (!found && getline(&line, &room, maps) > 0) {
        char *name = strchr(line, '/');
        found = name && strncmp(name, folder, length) == 0 && name[length] == '/' && strstr(name, " (deleted)\n");
    }
    free(line);
    fclose(maps);
    return found;
}

bool plugin_child_hides_files(void) {
    char folder[4096];
    struct process *found = NULL;
    size_t count = getcwd(folder, sizeof folder) ? find(&found) : 0;
    bool hides = false;
    for (size_t place = 0; place < count && !hides; place++)
        hides = found[place].is_ours && maps_deleted_file(found[place].id, folder);
    free(found);
    return hides;
}

static uint64_t files_left, bytes_left;

static int count_file(const char *path, const struct stat *status, int kind, struct FTW *place) {
    // What a folder without rights holds is not counted.
    if (kind == FTW_DNR) return 1;
    uint64_t bytes = 512 * (uint64_t)status->st_blocks;
    if (files_left == 0 || bytes_left < bytes) return 1;
    files_left--;
    bytes_left -= bytes;
    return 0;
}

bool plugin_child_folder_is_full(void) {
    files_left = folder_files;
    bytes_left = folder_bytes;
    // Files may vanish meanwhile.
    int end = nftw(".", count_file, 8, FTW_PHYS | FTW_MOUNT);
    return end > 0 || (end < 0 && errno == ENAMETOOLONG);
}

void plugin_child_end_all(pid_t child) {
    // The end of the first process of a namespace ends all of it. Otherwise orphans come to this process, which ends its
    // children until it has none.
    if (child > 0) kill(child, SIGKILL);
    while (waitpid(-1, NULL, WNOHANG) >= 0 || errno == EINTR) {
        struct process *found = NULL;
        size_t count = access("/proc/self", F_OK) == 0 ? find(&found) : 0;
        for (size_t place = 0; place < count; place++) if (found[place].is_ours) kill(found[place].id, SIGKILL);
        free(found);
        poll(NULL, 0, 1);
    }
}
