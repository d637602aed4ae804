// SPDX-License-Identifier: GPL-2.0-only
#include "ivshmem_server.h"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>

#include "log.h"

namespace ai0::npu {

namespace {

constexpr std::int64_t kProtocolVersion = 0;
constexpr std::int64_t kSharedMemoryFollows = -1;

/* Each message is a number, some with a descriptor. */
bool send_message(int socket, std::int64_t value, int fd = -1)
{
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    iovec data = {&value, sizeof(value)};
    msghdr message = {};

    message.msg_iov = &data;
    message.msg_iovlen = 1;
    if (fd >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof(control);
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    }
    return ::sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof(value);
}

} // namespace

UniqueFd listen_unix(const std::string& path)
{
    sockaddr_un address = {};

    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return {};
    }
    std::memcpy(address.sun_path, path.c_str(), path.size());

    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd)
        return {};
    ::unlink(path.c_str());
    if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) ||
        ::listen(fd.get(), 16))
        return {};
    return fd;
}

IvshmemServer::IvshmemServer(const std::string& path) : path_(path), listener_(listen_unix(path))
{
    for (unsigned i = 0; i < NPU_VECTORS; i++) {
        doorbells_[i] = event_make();
        interrupts_[i] = event_make();
    }
}

IvshmemServer::~IvshmemServer()
{
    if (listener_)
        ::unlink(path_.c_str());
}

bool IvshmemServer::events_made() const
{
    for (unsigned i = 0; i < NPU_VECTORS; i++)
        if (!doorbells_[i] || !interrupts_[i])
            return false;
    return true;
}

/* Peers of others come before one's own, so that QEMU never rings a peer it does not know. */
bool IvshmemServer::accept(int shared_memory)
{
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));

    if (!fd)
        return false;
    if (client_) {
        log_line("a second connection to the device socket was refused: one QEMU uses it already");
        return false;
    }
    bool sent = send_message(fd.get(), kProtocolVersion) &&
                send_message(fd.get(), NPU_PEER_DRIVER) &&
                send_message(fd.get(), kSharedMemoryFollows, shared_memory);
    for (unsigned i = 0; sent && i < NPU_VECTORS; i++)
        sent = send_message(fd.get(), NPU_PEER_DEVICE, doorbells_[i].get());
    for (unsigned i = 0; sent && i < NPU_VECTORS; i++)
        sent = send_message(fd.get(), NPU_PEER_DRIVER, interrupts_[i].get());
    if (!sent) {
        log_line("QEMU closed the connection while it was being set up");
        return false;
    }
    client_ = std::move(fd);
    return true;
}

bool IvshmemServer::client_alive()
{
    char ignored[64];
    ssize_t n = ::recv(client_.get(), ignored, sizeof(ignored), MSG_DONTWAIT);

    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

void IvshmemServer::drop_sockets()
{
    listener_.reset();
    client_.reset();
}

} // namespace ai0::npu
