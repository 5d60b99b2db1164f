#pragma once

// The confinement of a plugin's process.
//
//     PROGRAM plugin-child MEBIBYTES PROCESSES SECONDS network|none FOLDER READS PATH… COMMAND…
//
//     daemon ──pipe──▶ supervisor ──fork──▶ child: namespaces, user, Landlock, limits, filter, execve
//
// A program with this module that is started in this way becomes the supervisor before its `main` and before any thread: a
// process with threads can neither change its user nor make namespaces for all of them. READS is the number of paths that the
// plugin may read; of a PATH after `list:` it may read the names of files alone. The supervisor waits for the child, and for the end of the pipe at descriptor 3, which the daemon holds, and
// looks now and then at what the plugin holds: if one of them ends, or the plugin holds too much, all of the plugin's processes
// end. In a namespace of processes of its own the child is the first process, so that its end ends all of its descendants;
// elsewhere the supervisor adopts orphans and ends them. A failure is written to standard error, and the status is 126 or 127.
