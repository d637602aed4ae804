/* SPDX-License-Identifier: Apache-2.0 */
#include <ai/dump.h>

#include <cerrno>

#include "file.h"

namespace ai {

namespace {

/* What is dumped may grow meanwhile: so often it is tried with more room. */
constexpr int kTries = 8;
constexpr std::size_t kFirstRoom = std::size_t{64} << 10;

} // namespace

Result<std::vector<std::byte>> dump(const Session& session, DeviceId device, std::uint64_t job)
{
    const detail::File& file = *detail::File::of(session);
    std::vector<std::byte> bytes(kFirstRoom);

    for (int left = kTries;; left--) {
        ai_dump argument{};
        argument.device = static_cast<std::uint32_t>(device);
        argument.job = job;
        argument.buffer = reinterpret_cast<std::uintptr_t>(bytes.data());
        argument.capacity = bytes.size();
        Result<void> done = file.call(AI_DUMP, "AI_DUMP", argument);
        if (!done && (done.error().code != ENOSPC || !left))
            return std::move(done).error();
        if (done) {
            bytes.resize(argument.needed);
            return bytes;
        }
        bytes.resize(argument.needed + argument.needed / 4);
    }
}

} // namespace ai
