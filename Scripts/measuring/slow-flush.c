// Loaded before libc, makes every fdatasync take FLUSH_MICROSECONDS longer, as on a disk that is slower than this one.
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int fdatasync(int descriptor) {
    long result = syscall(SYS_fdatasync, descriptor);
    const char *text = getenv("FLUSH_MICROSECONDS");
    long microseconds = text ? atol(text) : 0;
    struct timespec longer = {microseconds / 1000000, microseconds % 1000000 * 1000};
    nanosleep(&longer, NULL);
    return (int)result;
}
