/* SPDX-License-Identifier: Apache-2.0 */
/* A model that a device has made ready. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ai/dtype.h>
#include <ai/export.h>
#include <ai/result.h>
#include <ai/session.h>
#include <ai/shape.h>
#include <ai/terms.h>
#include <ai/types.h>

namespace ai {

/* What a model says of one of its inputs or outputs. */
struct TensorInfo {
    std::string name;
    DType dtype = DType::kUndefined;
    std::vector<std::int64_t> dims; /* -1: the caller or the data decides */
    bool any_rank = false;          /* it may have any shape, dims is empty */

    /* The shape, if nothing of it is free. */
    std::optional<Shape> shape() const;
};

/* For people, for example "x: float32 [1,3,?,?]", or "x: float32 [...]" of any shape. */
LIBAI_API std::string to_string(const TensorInfo& info);

enum class ModelState : std::uint32_t { kCompiling = 0, kReady = 1, kFailed = 2 };

struct LoadOptions {
    /* Name in the records and traces; empty: of the file, else "model". */
    std::string name{};
    /* 0: one above the highest of this name on the same open file. */
    std::uint32_t version = 0;
    DeviceId device = kAnyDevice;
    /* From now on; ETIME when the device takes longer. 0: as long as it takes. */
    Nanoseconds timeout{0};
    /* Of its arithmetic, for the terms of contracts. */
    Precision precision = Precision::kNone;
    /* Return while the device still compiles; see Model::wait(). */
    bool no_wait = false;
};

namespace detail {
struct LoadedModel;
}

/*
 * Unloaded when it goes; jobs that run keep it until they end. Move-only. All const
 * members, and infer(), may be called from several threads at once.
 */
class LIBAI_API Model {
public:
    /*
     * Gives the bytes of an ONNX model to a device; the kernel takes a copy. Blocks
     * while the device compiles, unless no_wait. EBADMSG when it is no ONNX model,
     * EOPNOTSUPP when the device cannot run it, EEXIST for a version in use.
     */
    static Result<Model> load(const Session& session, std::span<const std::byte> artefact,
                              const LoadOptions& options = {});

    /* The same from a file, which is mapped, not read. */
    static Result<Model> load_file(const Session& session, const std::string& path,
                                   const LoadOptions& options = {});

    Model(Model&&) noexcept;
    Model& operator=(Model&&) noexcept;
    ~Model();

    /* In the model's own order. Empty until it is ready. */
    std::span<const TensorInfo> inputs() const;
    std::span<const TensorInfo> outputs() const;

    /* Position of an input or output by name. */
    std::optional<std::size_t> input_index(std::string_view name) const;
    std::optional<std::size_t> output_index(std::string_view name) const;

    const Session& session() const;
    const std::string& name() const;
    std::uint32_t version() const;
    std::uint32_t handle() const;
    DeviceId device() const;
    /* Whether the device had the compiled form in its cache. */
    bool cached() const;
    /* Time the device took to make the model ready. */
    Nanoseconds compile_time() const;

    /*
     * With no_wait: asks the kernel, and learns inputs and outputs once the model is
     * ready. Does not block. A model that failed is an error, with its reason.
     */
    Result<ModelState> poll();

    /* Polls until the model is ready; ETIME after @timeout (0: never). */
    Result<void> wait(Nanoseconds timeout = Nanoseconds{0});

private:
    friend struct detail::LoadedModel;
    explicit Model(std::unique_ptr<detail::LoadedModel> impl);

    std::unique_ptr<detail::LoadedModel> impl_;
};

} // namespace ai
