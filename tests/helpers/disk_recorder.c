/* Records what a process asks of the disk below $RECORDED_FOLDER, for tests/helpers/power_cut.py; loaded with LD_PRELOAD.
 *
 * Each call of libc below becomes one record in $RECORD_FILE, in the order in which the calls happened:
 *     kind (1 byte), length of the path (4), offset (8), length of the data (8), path, data
 * Kinds: W write, T truncate to offset, S sync, U unlink, R rename to data. A sync is recorded and not carried out.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int record_file = -1;

static int is_recorded(const char *path) {
    const char *folder = getenv("RECORDED_FOLDER");
    return folder != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

/* The path of an open file; empty if it is not below the folder. */
static void find_path(int file, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_BYTES - 1);
    path[length > 0 ? length : 0] = '\0';
    if (!is_recorded(path)) path[0] = '\0';
}

static void put(const void *bytes, size_t count) {
    while (count > 0) {
        ssize_t written = syscall(SYS_write, record_file, bytes, count);
        if (written < 0) abort();
        bytes = (const char *)bytes + written;
        count -= (size_t)written;
    }
}

static void record(char kind, const char *path, int64_t offset, const void *data, int64_t length) {
    if (record_file < 0) record_file = (int)syscall(SYS_openat, AT_FDCWD, getenv("RECORD_FILE"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    uint32_t path_length = (uint32_t)strlen(path);
    put(&kind, 1);
    put(&path_length, 4);
    put(&offset, 8);
    put(&length, 8);
    put(path, path_length);
    put(data, (size_t)length);
}

static void *original(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) abort();
    return found;
}

static ssize_t write_at(int file, const void *data, size_t count, off_t offset, int moves) {
    char path[PATH_BYTES];
    find_path(file, path);
    pthread_mutex_lock(&mutex);
    if (moves && path[0] != '\0') {
        int is_appending = fcntl(file, F_GETFL) & O_APPEND;
        offset = lseek(file, 0, is_appending ? SEEK_END : SEEK_CUR);
    }
    ssize_t written = moves ? syscall(SYS_write, file, data, count) : syscall(SYS_pwrite64, file, data, count, offset);
    if (written > 0 && path[0] != '\0') record('W', path, offset, data, written);
    pthread_mutex_unlock(&mutex);
    return written;
}

ssize_t write(int file, const void *data, size_t count) { return write_at(file, data, count, 0, 1); }
ssize_t pwrite(int file, const void *data, size_t count, off_t offset) { return write_at(file, data, count, offset, 0); }
ssize_t pwrite64(int file, const void *data, size_t count, off_t offset) { return write_at(file, data, count, offset, 0); }

static int truncate_file(int file, off_t length) {
    char path[PATH_BYTES];
    find_path(file, path);
    pthread_mutex_lock(&mutex);
    int status = (int)syscall(SYS_ftruncate, file, length);
    if (status == 0 && path[0] != '\0') record('T', path, length, "", 0);
    pthread_mutex_unlock(&mutex);
    return status;
}

int ftruncate(int file, off_t length) { return truncate_file(file, length); }
int ftruncate64(int file, off_t length) { return truncate_file(file, length); }

static int sync_file(int file, const char *name) {
    char path[PATH_BYTES];
    find_path(file, path);
    if (path[0] == '\0') return ((int (*)(int))original(name))(file);
    pthread_mutex_lock(&mutex);
    record('S', path, 0, "", 0);
    pthread_mutex_unlock(&mutex);
    return 0;
}

int fsync(int file) { return sync_file(file, "fsync"); }
int fdatasync(int file) { return sync_file(file, "fdatasync"); }

int unlink(const char *path) {
    int (*unlink_file)(const char *) = (int (*)(const char *))original("unlink");
    pthread_mutex_lock(&mutex);
    int status = unlink_file(path);
    if (status == 0 && is_recorded(path)) record('U', path, 0, "", 0);
    pthread_mutex_unlock(&mutex);
    return status;
}

int rename(const char *from, const char *to) {
    int (*rename_file)(const char *, const char *) = (int (*)(const char *, const char *))original("rename");
    pthread_mutex_lock(&mutex);
    int status = rename_file(from, to);
    if (status == 0 && is_recorded(from)) record('R', from, 0, to, (int64_t)strlen(to));
    pthread_mutex_unlock(&mutex);
    return status;
}
