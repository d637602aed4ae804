/* SPDX-License-Identifier: Apache-2.0 */
#include <ai/syscalls.h>

#include <cerrno>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace ai {

Syscalls::~Syscalls() = default;

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
