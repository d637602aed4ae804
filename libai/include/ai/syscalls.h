/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam between the library and the kernel. All calls of the library into the
 * kernel that concern /dev/ai0 go through it, so that a program can be tested
 * where there is no device: derive from it and hand it to Session::open().
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <ai/export.h>
#include <ai/types.h>

namespace ai {

/* Called from any thread that uses the session, several at a time. */
class LIBAI_API Syscalls {
public:
    Syscalls() = default;
    Syscalls(const Syscalls&) = delete;
    Syscalls& operator=(const Syscalls&) = delete;
    virtual ~Syscalls();

    /* open(2): the descriptor, or a negative error number. */
    virtual int open(const char* path, int flags) = 0;

    /* close(2) */
    virtual void close(int fd) = 0;

    /* ioctl(2): 0 or more, or a negative error number. -EINTR is tried again. */
    virtual int ioctl(int fd, unsigned long request, void* argument) = 0;

    /* read(2): how many bytes, or a negative error number. */
    virtual long read(int fd, std::span<std::byte> to);

    /*
     * poll(2) for reading: 1, 0 when @timeout passed (negative: never), or a negative
     * error number. A signal does not end it.
     */
    virtual int wait_readable(int fd, Nanoseconds timeout);

    /*
     * mmap(2), shared, for reading and, with @write, for writing: 0 and the pages in
     * @to, or a negative error number.
     */
    virtual int map(int fd, std::uint64_t offset, Bytes size, bool write, std::byte** to);

    /* munmap(2) of what map() gave. */
    virtual void unmap(std::span<std::byte> pages);

    /* The real ones. */
    static const std::shared_ptr<Syscalls>& kernel();
};

} // namespace ai
