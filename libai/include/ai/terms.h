/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terms of a contract: what is needed, and what may give way.
 *
 *     using namespace std::chrono_literals;
 *     using namespace ai::literals;
 *     ai::Terms terms{.name = "camera",
 *                     .device = model.device(),
 *                     .latency = 50ms,
 *                     .period = ai::period_of(30_Hz),
 *                     .service = 8ms,
 *                     .energy = 15_J,
 *                     .memory = {{.home = model.device(), .size = 64_MiB}}};
 *
 * or as text:
 *
 *     auto terms = ai::parse_terms("name=camera device=npu0 latency_p99<=50ms rate>=30Hz"
 *                                  " service<=8ms energy<=15J memory(npu0)>=64MiB")
 *                      .or_throw();
 *
 * uapi/ai.h says what each term means and which go together.
 */
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ai/export.h>
#include <ai/result.h>
#include <ai/types.h>
#include <ai/units.h>

namespace ai {

/* Arithmetic of a model, from the least precise on. */
enum class Precision : std::uint32_t {
    kNone = 0, /* not said, or none asked for */
    kInt4 = 1,
    kInt8 = 2,
    kFp8 = 3,
    kBf16 = 4,
    kFp16 = 5,
    kFp32 = 6,
    kFp64 = 7,
};

/* What becomes of requests after three running broke a term or failed. */
enum class Fallback : std::uint32_t {
    kForbid = 0, /* they stay where they are */
    kWarn = 1,   /* they go to the fallback, and each result is an event */
    kAllow = 2,  /* they go there; only going and coming back are events */
};

/* Memory that is reserved. */
struct MemoryTerm {
    DeviceId home = kSystem; /* or a device with memory of its own */
    Bytes size{};            /* rounded up to pages */
    Bytes used{};            /* of a contract: what is allocated of it */

    bool operator==(const MemoryTerm&) const = default;
};

/* A term that is zero is not asked for. */
struct Terms {
    std::string name{};        /* for the record; printable ASCII, at most 63 characters */
    DeviceId device = kSystem; /* where requests run, with any of the terms of service */
    Nanoseconds latency{0};    /* from submission to the end of a request, at most */
    Nanoseconds period{0};     /* mean time between requests */
    std::uint32_t burst = 0;   /* requests that may come at once; 0 means 1 */
    Nanoseconds service{0};    /* longest time one keeps the device; 0: as measured of model */
    std::uint32_t model = 0;   /* Model::handle() of a model on that device */
    Energy energy{};           /* of one inference, at most */
    Power power{};             /* of the device meanwhile, at most */
    Bandwidth bandwidth{};     /* tensor data that requests may move */
    Share share{};             /* of the device's time, at least; not together with latency */
    Precision precision = Precision::kNone; /* of the models used, at least */
    Fallback fallback = Fallback::kForbid;
    std::uint32_t fallback_model = 0; /* Model::handle() of what stands in for model */
    bool critical = false;            /* the device may fail, the work may not */
    bool may_degrade = false;         /* the fallback may be less precise */
    Nanoseconds lapse{0};             /* unused reservations are given up after that */
    Nanoseconds fuse{0};              /* how long an open fuse cools; 0: five minutes */
    std::vector<MemoryTerm> memory{}; /* each home at most once */

    bool operator==(const Terms&) const = default;
};

/*
 * Terms from text: words such as latency_p99<=50ms, in any order, each at most once,
 * with blanks or commas between them. A name that has such itself is put in double
 * quotes; inside these a backslash stands before a quote or a backslash.
 * Models have no text: set them afterwards. EINVAL; the message has three lines, the
 * last one points at the word.
 *
 *     name=camera  device=npu0  latency_p99<=TIME  rate>=30Hz or period=TIME  burst=2
 *     service<=TIME  energy<=15J  power<=25W  bandwidth>=1GB/s  share>=20%
 *     precision>=fp16  fault=critical|non-critical  degrade=yes|no
 *     fallback=forbid|warn|allow  lapse=TIME  fuse=TIME  memory(npu0|system)>=64MiB
 */
LIBAI_API Result<Terms> parse_terms(std::string_view text);

/* Text that parse_terms() makes the same terms of, but for models and memory used. */
LIBAI_API std::string to_string(const Terms& terms);

/* "fp32", ...; "none" */
LIBAI_API const char* to_string(Precision precision);
/* "forbid", "warn" or "allow". */
LIBAI_API const char* to_string(Fallback fallback);

/* The name a device with that number has, for example "npu0"; "system" for device 0. */
LIBAI_API std::string device_name(DeviceId id);

/* For people: 1.5 ms, 12.3 J, 25 W, 64 MiB. */
LIBAI_API std::string to_string(Nanoseconds time);
LIBAI_API std::string to_string(Energy energy);
LIBAI_API std::string to_string(Power power);
LIBAI_API std::string to_string(Bandwidth bandwidth);
LIBAI_API std::string to_string(Share share);
LIBAI_API std::string to_string(Bytes bytes);

} // namespace ai
