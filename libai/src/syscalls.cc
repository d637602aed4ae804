/* SPDX-License-Identifier: Apache-2.0 */
#include <ai/syscalls.h>

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace ai {

Syscalls::~Syscalls() = default;

long Syscalls::read(int fd, std::span<std::byte> to)
{
    ssize_t got = ::read(fd, to.data(), to.size());

    return got < 0 ? -errno : static_cast<long>(got);
}

int Syscalls::wait_readable(int fd, Nanoseconds timeout)
{
    const Clock::time_point begin = Clock::now();
    pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};

    for (;;) {
        Nanoseconds left = std::max<Nanoseconds>(timeout - (Clock::now() - begin), Nanoseconds(0));
        timespec time{.tv_sec = static_cast<time_t>(left.count() / 1000000000),
                      .tv_nsec = static_cast<long>(left.count() % 1000000000)};
        int ret = ::ppoll(&entry, 1, timeout < Nanoseconds(0) ? nullptr : &time, nullptr);
        if (ret >= 0 || errno != EINTR)
            return ret < 0 ? -errno : ret;
    }
}

int Syscalls::map(int fd, std::uint64_t offset, Bytes size, bool write, std::byte** to)
{
    void* pages = ::mmap(nullptr, size.count(), write ? PROT_READ | PROT_WRITE : PROT_READ,
                         MAP_SHARED, fd, static_cast<off_t>(offset));

    if (pages == MAP_FAILED)
        return -errno;
    *to = static_cast<std::byte*>(pages);
    return 0;
}

void Syscalls::unmap(std::span<std::byte> pages)
{
    ::munmap(pages.data(), pages.size());
}

namespace {

class KernelSyscalls final : public Syscalls {
public:
    int open(const char* path, int flags) override
    {
        int fd = ::open(path, flags);

        return fd < 0 ? -errno : fd;
    }

    void close(int fd) override { ::close(fd); }

    int ioctl(int fd, unsigned long request, void* argument) override
    {
        int ret = ::ioctl(fd, request, argument);

        return ret < 0 ? -errno : ret;
    }
};

} // namespace

const std::shared_ptr<Syscalls>& Syscalls::kernel()
{
    static const std::shared_ptr<Syscalls> instance = std::make_shared<KernelSyscalls>();

    return instance;
}

} // namespace ai
