/* SPDX-License-Identifier: Apache-2.0 */
/* An open /dev/ai0. Everything begins with it. */
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ai/device.h>
#include <ai/export.h>
#include <ai/result.h>
#include <ai/types.h>

namespace ai {

class Syscalls;

namespace detail {
class File;
}

/* What this kernel offers. */
struct SystemInfo {
    std::uint32_t abi_major = 0;
    std::uint32_t abi_minor = 0;
    std::uint64_t features = 0;
    std::uint32_t devices = 0; /* registered when the session was opened */
    std::uint32_t max_tensors = 0;
    std::uint32_t max_dims = 0;
    Bytes page_size;
    Bytes max_model;
    Bytes max_allocation;
};

/*
 * One open file, with an address space of its own on each device. Buffers and models
 * made in it share the file: it is closed when the last of them and the session have
 * gone, in any order.
 *
 * Copies are the same session. All members may be called from several threads at
 * once; none blocks for longer than the kernel takes to answer.
 */
class LIBAI_API Session {
public:
    /*
     * Opens the node that the environment variable AI_DEVICE_NODE names, or
     * /dev/ai0. The sentence of an error says what to do: load the module, join a
     * group, update one of kernel and library.
     */
    static Result<Session> open();

    /* Opens the node at @path; @syscalls stands in for the kernel in tests. */
    static Result<Session> open(const std::string& path,
                                std::shared_ptr<Syscalls> syscalls = nullptr);

    Session(const Session&);
    Session(Session&&) noexcept;
    Session& operator=(const Session&);
    Session& operator=(Session&&) noexcept;
    ~Session();

    const SystemInfo& info() const;

    /* Path of the node. */
    const std::string& path() const;

    /* The descriptor, which the session goes on owning. */
    int fd() const;

    /* All devices there are now, without device 0. */
    Result<std::vector<Device>> devices() const;

    /* ENOENT if there is no such device; the sentence names those there are. */
    Result<Device> device(std::string_view name) const;
    Result<Device> device(DeviceId id) const;

private:
    friend class detail::File;
    explicit Session(std::shared_ptr<detail::File> file);

    std::shared_ptr<detail::File> file_;
};

/*
 * Ends the jobs of @session that carry @cookie; they fail with ECANCELED. The
 * number of jobs that were told to end. Any thread.
 */
LIBAI_API Result<std::uint32_t> cancel(const Session& session, std::uint64_t cookie);

} // namespace ai
