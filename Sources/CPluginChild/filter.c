#define _GNU_SOURCE
#include "confinement.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

// Numbers that all architectures share, for older headers.
#define SYSCALL_io_uring_setup 425
#define SYSCALL_open_tree 428
#define SYSCALL_move_mount 429
#define SYSCALL_fsopen 430
#define SYSCALL_fsconfig 431
#define SYSCALL_fsmount 432
#define SYSCALL_fspick 433
#define SYSCALL_pidfd_send_signal 424
#define SYSCALL_clone3 435
#define SYSCALL_pidfd_getfd 438
#define SYSCALL_process_madvise 440
#define SYSCALL_mount_setattr 442
#define SYSCALL_memfd_secret 447
#define SYSCALL_fchmodat2 452
#define SYSCALL_setxattrat 463
#define SYSCALL_removexattrat 466

#ifdef ARCHITECTURE

#define FIELD(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name))
// The low half of an argument: the kernel reads no more of these.
#define ARGUMENT(place) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[place]))
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, action)
#define REFUSE(error) ANSWER(SECCOMP_RET_ERRNO | (error))
#define ALLOW ANSWER(SECCOMP_RET_ALLOW)
#define UNLESS(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped)
#define DENY(number) UNLESS(number, 1), REFUSE(EPERM)

static void install(const struct sock_filter *filter, size_t count) {
    struct sock_fprog program = {.len = (unsigned short)count, .filter = (struct sock_filter *)filter};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
        dprintf(2, "the kernel has no filter of system calls: the plugin may use any of them\n");
}

void plugin_child_filter(bool network, bool is_separate) {
    const uint32_t namespaces = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS
        | CLONE_NEWCGROUP;
    const uint32_t self = (uint32_t)getpid();
    const struct sock_filter filter[] = {
        FIELD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0), ANSWER(SECCOMP_RET_KILL_PROCESS),
        FIELD(nr),
#if defined(__x86_64__)
        // Numbers of the ABI with short pointers.
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), REFUSE(ENOSYS),
#endif
        // Its flags are out of reach for a filter; the C library takes clone in its place.
        UNLESS(SYSCALL_clone3, 1), REFUSE(ENOSYS),
        UNLESS(SYS_clone, 4), ARGUMENT(0), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, namespaces, 0, 1), REFUSE(EPERM), ALLOW,
        // The end of the supervisor ends the plugin.
        UNLESS(SYS_prctl, 4), ARGUMENT(0), UNLESS(PR_SET_PDEATHSIG, 1), REFUSE(EPERM), ALLOW,
        UNLESS(SYS_prlimit64, 5), ARGUMENT(0), UNLESS(0, 1), ALLOW, UNLESS(self, 1), ALLOW,
        FIELD(nr), DENY(SYS_prlimit64),
        // Memory and code of other processes.
        DENY(SYS_ptrace), DENY(SYS_process_vm_readv), DENY(SYS_process_vm_writev), DENY(SYS_kcmp),
        DENY(SYSCALL_pidfd_getfd), DENY(SYSCALL_process_madvise),
        // Memory that the supervisor does not see.
        DENY(SYS_memfd_create), DENY(SYSCALL_memfd_secret), DENY(SYS_shmget), DENY(SYS_msgget), DENY(SYS_semget),
        UNLESS(SYS_mmap, 5), ARGUMENT(3), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, MAP_SHARED | MAP_ANONYMOUS),
        UNLESS(MAP_SHARED | MAP_ANONYMOUS, 1), REFUSE(EPERM), ALLOW,
        // Modes, owners, times and attributes of files: Landlock leaves them to the user, who may be the daemon's.
#if defined(__x86_64__)
        DENY(SYS_chmod), DENY(SYS_chown), DENY(SYS_lchown), DENY(SYS_utime), DENY(SYS_utimes), DENY(SYS_futimesat),
#endif
        DENY(SYS_fchmod), DENY(SYS_fchmodat), DENY(SYSCALL_fchmodat2), DENY(SYS_fchown), DENY(SYS_fchownat),
        DENY(SYS_utimensat), DENY(SYS_setxattr), DENY(SYS_lsetxattr), DENY(SYS_fsetxattr), DENY(SYSCALL_setxattrat),
        DENY(SYS_removexattr), DENY(SYS_lremovexattr), DENY(SYS_fremovexattr), DENY(SYSCALL_removexattrat),
        DENY(SYS_inotify_add_watch), DENY(SYS_fanotify_mark),
        // Ways around the other limits.
        DENY(SYS_unshare), DENY(SYS_setns), DENY(SYS_mount), DENY(SYS_umount2), DENY(SYS_pivot_root), DENY(SYS_chroot),
        DENY(SYSCALL_open_tree), DENY(SYSCALL_move_mount), DENY(SYSCALL_fsopen), DENY(SYSCALL_fsconfig),
        DENY(SYSCALL_fsmount), DENY(SYSCALL_fspick), DENY(SYSCALL_mount_setattr), DENY(SYS_open_by_handle_at),
        DENY(SYS_name_to_handle_at), DENY(SYSCALL_io_uring_setup),
        // The kernel.
        DENY(SYS_bpf), DENY(SYS_perf_event_open), DENY(SYS_userfaultfd), DENY(SYS_add_key), DENY(SYS_request_key),
        DENY(SYS_keyctl), DENY(SYS_init_module), DENY(SYS_finit_module), DENY(SYS_delete_module), DENY(SYS_kexec_load),
        DENY(SYS_reboot), DENY(SYS_swapon), DENY(SYS_swapoff), DENY(SYS_acct), DENY(SYS_quotactl), DENY(SYS_syslog),
        ALLOW,
    };
    // Pairs of sockets stay: they lead nowhere else. They carry no open files, and their buffers stay as they are, for neither is
    // counted.
    static const struct sock_filter no_sockets[] = {
        FIELD(nr), DENY(SYS_socket), DENY(SYS_sendmsg), DENY(SYS_sendmmsg), DENY(SYS_setsockopt), ALLOW,
    };
    // Signals to itself and to its group alone.
    const struct sock_filter no_signals[] = {
        FIELD(nr), DENY(SYSCALL_pidfd_send_signal), DENY(SYS_rt_sigqueueinfo), DENY(SYS_rt_tgsigqueueinfo),
        UNLESS(SYS_kill, 5), ARGUMENT(0), UNLESS(0, 1), ALLOW, UNLESS(self, 1), ALLOW, FIELD(nr),
        UNLESS(SYS_tkill, 3), ARGUMENT(0), UNLESS(self, 1), ALLOW, FIELD(nr),
        UNLESS(SYS_tgkill, 3), ARGUMENT(0), UNLESS(self, 1), ALLOW, FIELD(nr),
        DENY(SYS_kill), DENY(SYS_tkill), DENY(SYS_tgkill), ALLOW,
    };
    if (!network) install(no_sockets, sizeof no_sockets / sizeof *no_sockets);
    if (!is_separate) install(no_signals, sizeof no_signals / sizeof *no_signals);
    install(filter, sizeof filter / sizeof *filter);
}

#else

void plugin_child_filter(bool network, bool is_separate) {
    dprintf(2, "no filter of system calls for this processor: the plugin may use any of them\n");
}

#endif
