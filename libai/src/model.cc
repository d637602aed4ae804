/* SPDX-License-Identifier: Apache-2.0 */
#include <ai/model.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "clock.h"
#include "file.h"
#include "loaded_model.h"
#include "mapped_file.h"
#include "text.h"

namespace ai {

namespace {

constexpr Nanoseconds kPollFirst = std::chrono::milliseconds(1);
constexpr Nanoseconds kPollMost = std::chrono::milliseconds(50);

/* A file's name without its extension, as far as the kernel takes it for a name. */
std::string name_of_file(const std::string& path)
{
    std::string name = std::filesystem::path(path).stem().string().substr(0, AI_NAME_LEN - 1);

    std::ranges::replace_if(
        name, [](char c) { return c < 0x20 || c > 0x7e; }, '_');
    return name;
}

TensorInfo from_kernel(const ai_tensor_info& info)
{
    TensorInfo out;

    out.name = detail::text_of(info.name);
    out.dtype = static_cast<DType>(info.dtype);
    out.any_rank = info.rank == AI_RANK_ANY;
    if (!out.any_rank)
        out.dims.assign(info.dims, info.dims + std::min<std::size_t>(info.rank, AI_MAX_DIMS));
    return out;
}

std::optional<std::size_t> index_of(std::span<const TensorInfo> infos, std::string_view name)
{
    /* The kernel cuts names; two that differ behind the cut cannot be told apart. */
    auto found =
        std::ranges::find(infos, name.substr(0, AI_TENSOR_NAME_LEN - 1), &TensorInfo::name);

    if (found == infos.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - infos.begin());
}

} // namespace

std::optional<Shape> TensorInfo::shape() const
{
    if (any_rank)
        return std::nullopt;
    Result<Shape> shape = Shape::from(dims);

    return shape ? std::optional(*shape) : std::nullopt;
}

std::string to_string(const TensorInfo& info)
{
    return info.name + ": " + dtype_name(info.dtype) + " " +
           (info.any_rank ? "[...]" : shape_text(info.dims));
}

Result<Model> Model::load(const Session& session, std::span<const std::byte> artefact,
                          const LoadOptions& options)
{
    std::string name = options.name.empty() ? "model" : options.name;
    ai_model_load argument{};

    if (name.size() >= AI_NAME_LEN)
        return Error{EINVAL, "the name of the model has " + std::to_string(name.size()) +
                                 " characters, at most " + std::to_string(AI_NAME_LEN - 1) +
                                 " are possible"};
    std::memcpy(argument.name, name.data(), name.size());
    argument.hdr.flags = options.no_wait ? AI_MODEL_NOWAIT : 0;
    argument.data = reinterpret_cast<std::uintptr_t>(artefact.data());
    argument.bytes = artefact.size();
    argument.timeout_ns = detail::to_kernel_timeout(options.timeout);
    argument.device = static_cast<std::uint32_t>(options.device);
    argument.format = AI_FORMAT_ONNX;
    argument.version = options.version;
    argument.precision = static_cast<std::uint32_t>(options.precision);

    const std::shared_ptr<detail::File>& file = detail::File::of(session);
    if (Result<void> result = file->call(AI_MODEL_LOAD, "AI_MODEL_LOAD", argument); !result)
        return std::move(result).error();

    auto impl = std::make_unique<detail::LoadedModel>(session);
    impl->name = std::move(name);
    impl->handle = argument.model;
    impl->version = argument.version;
    impl->device = DeviceId(argument.device);

    Model model(std::move(impl));
    if (!options.no_wait)
        if (Result<ModelState> state = model.poll(); !state)
            return std::move(state).error();
    return model;
}

Result<Model> Model::load_file(const Session& session, const std::string& path,
                               const LoadOptions& options)
{
    Result<detail::MappedFile> file = detail::MappedFile::open(path);
    LoadOptions named = options;

    if (!file)
        return std::move(file).error();
    if (named.name.empty())
        named.name = name_of_file(path);
    return load(session, file->data(), named).transform_error([&](Error&& error) {
        return Error{error.code, path + ": " + error.message};
    });
}

Model::Model(std::unique_ptr<detail::LoadedModel> impl) : impl_(std::move(impl)) {}
Model::Model(Model&&) noexcept = default;

Model& Model::operator=(Model&& other) noexcept
{
    std::swap(impl_, other.impl_);
    return *this;
}

Model::~Model()
{
    if (!impl_)
        return;
    ai_model_unload argument{};
    argument.model = impl_->handle;
    /* Cannot fail for a handle of ours; closing the file unloads it in any case. */
    static_cast<void>(detail::File::of(impl_->session)
                          ->call(AI_MODEL_UNLOAD, "AI_MODEL_UNLOAD", argument)
                          .has_value());
}

Result<ModelState> Model::poll()
{
    std::vector<ai_tensor_info> tensors(2 * AI_MAX_TENSORS);
    ai_model_info info{};

    if (impl_->state == ModelState::kReady)
        return impl_->state;
    info.model = impl_->handle;
    info.tensors = reinterpret_cast<std::uintptr_t>(tensors.data());
    info.capacity = static_cast<std::uint32_t>(tensors.size());
    Result<void> result =
        detail::File::of(impl_->session)->call(AI_MODEL_INFO, "AI_MODEL_INFO", info);
    if (!result)
        return std::move(result).error();
    if (info.state == AI_MODEL_FAILED)
        return Error{EBADMSG, detail::text_of(info.reason)};
    if (info.state != AI_MODEL_READY)
        return ModelState::kCompiling;
    if (std::uint64_t(info.nr_inputs) + info.nr_outputs > tensors.size())
        return Error{EPROTO, "the kernel names " + std::to_string(info.nr_inputs) + " inputs and " +
                                 std::to_string(info.nr_outputs) + " outputs, at most " +
                                 std::to_string(tensors.size()) + " are possible together"};

    std::span all(tensors);
    impl_->inputs.clear();
    impl_->outputs.clear();
    for (const ai_tensor_info& input : all.first(info.nr_inputs))
        impl_->inputs.push_back(from_kernel(input));
    for (const ai_tensor_info& output : all.subspan(info.nr_inputs, info.nr_outputs))
        impl_->outputs.push_back(from_kernel(output));
    impl_->output_bytes = std::make_unique<std::atomic<std::uint64_t>[]>(info.nr_outputs);
    impl_->cached = info.cached != 0;
    impl_->compile_time = Nanoseconds(info.compile_ns);
    impl_->state = ModelState::kReady;
    return impl_->state;
}

Result<void> Model::wait(Nanoseconds timeout)
{
    Clock::time_point begin = Clock::now();
    Nanoseconds pause = kPollFirst;

    for (;;) {
        Result<ModelState> state = poll();
        if (!state)
            return std::move(state).error();
        if (*state == ModelState::kReady)
            return {};
        if (timeout > Nanoseconds(0) && Clock::now() - begin >= timeout)
            return Error{ETIME, "the device had not made model " + detail::quoted(impl_->name) +
                                    " ready when the time-out passed"};
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, kPollMost);
    }
}

std::span<const TensorInfo> Model::inputs() const
{
    return impl_->inputs;
}

std::span<const TensorInfo> Model::outputs() const
{
    return impl_->outputs;
}

std::optional<std::size_t> Model::input_index(std::string_view name) const
{
    return index_of(impl_->inputs, name);
}

std::optional<std::size_t> Model::output_index(std::string_view name) const
{
    return index_of(impl_->outputs, name);
}

const Session& Model::session() const
{
    return impl_->session;
}

const std::string& Model::name() const
{
    return impl_->name;
}

std::uint32_t Model::version() const
{
    return impl_->version;
}

std::uint32_t Model::handle() const
{
    return impl_->handle;
}

DeviceId Model::device() const
{
    return impl_->device;
}

bool Model::cached() const
{
    return impl_->cached;
}

Nanoseconds Model::compile_time() const
{
    return impl_->compile_time;
}

} // namespace ai
