/* SPDX-License-Identifier: Apache-2.0 */
/* Uses a bit of each part; succeeds when there is no device and libai says so. */
#include <chrono>
#include <cstdio>
#include <cstring>

#include <ai/ai.h>
#include <ai/uapi/ai.h>

static_assert(AI_ABI_MAJOR == 0);

int main()
{
    ai::Result<ai::Session> session = ai::Session::open("/nowhere/ai0");

    if (session || std::strcmp(ai::error_name(session.error().code), "ENOENT") != 0)
        return 1;
    if (ai::tensor_bytes(ai::DType::kFloat32, ai::Shape(2, 3)).value() != ai::Bytes(24))
        return 1;
    ai::Terms terms{.name = "camera", .latency = std::chrono::milliseconds(50)};
    if (ai::parse_terms("name=camera latency_p99<=50ms").value() != terms ||
        ai::parse_terms("latency_p99<=50W"))
        return 1;
    try {
        static_cast<void>(session.value());
        return 1;
    } catch (const ai::Exception& error) {
        std::printf("libai %s: %s\n", AI_VERSION_STRING, error.what());
    }
    return 0;
}
