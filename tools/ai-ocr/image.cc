/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <vector>

#include <libexif/exif-data.h>
#include <opencv2/imgproc.hpp>
#include <png.h>
#include <turbojpeg.h>

namespace ai_ocr {

namespace {

using Bytes = std::span<const unsigned char>;

constexpr std::uintmax_t kMaxFileBytes = 256U << 20;

ai::Result<void> check_sides(std::uint64_t width, std::uint64_t height, const std::string& where)
{
    if (width > 0 && height > 0 && width <= kMaxSide && height <= kMaxSide)
        return {};
    return ai::Error{EFBIG, where + " has " + std::to_string(width) + " x " +
                                std::to_string(height) + " pixels, 1 x 1 to " +
                                std::to_string(kMaxSide) + " x " + std::to_string(kMaxSide) +
                                " are possible: make it smaller first"};
}

ai::Result<cv::Mat> decode_png(Bytes file, const std::string& where)
{
    png_image png{};
    std::unique_ptr<png_image, decltype(&png_image_free)> owner(&png, png_image_free);

    png.version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_memory(&png, file.data(), file.size()))
        return ai::Error{EBADMSG, where + " is a damaged PNG file: " + png.message};
    if (ai::Result<void> sides = check_sides(png.width, png.height, where); !sides)
        return std::move(sides).error();

    png.format = PNG_FORMAT_BGR;
    cv::Mat image(static_cast<int>(png.height), static_cast<int>(png.width), CV_8UC3);
    const png_color white{255, 255, 255};
    if (!png_image_finish_read(&png, &white, image.data, static_cast<int>(image.step), nullptr))
        return ai::Error{EBADMSG, where + " is a damaged PNG file: " + png.message};
    return image;
}

/* EXIF orientation: 1 is upright, 2 to 8 are mirrored and turned. */
int orientation(Bytes file)
{
    std::unique_ptr<ExifData, decltype(&exif_data_unref)> exif(
        exif_data_new_from_data(file.data(), static_cast<unsigned>(file.size())), exif_data_unref);
    ExifEntry* entry =
        exif ? exif_content_get_entry(exif->ifd[EXIF_IFD_0], EXIF_TAG_ORIENTATION) : nullptr;

    if (!entry || entry->format != EXIF_FORMAT_SHORT || entry->components != 1)
        return 1;
    return exif_get_short(entry->data, exif_data_get_byte_order(exif.get()));
}

cv::Mat upright(const cv::Mat& image, int orientation)
{
    cv::Mat turned = image;

    if (orientation == 5 || orientation == 6 || orientation == 7 || orientation == 8)
        cv::transpose(image, turned);
    if (orientation == 2 || orientation == 6)
        cv::flip(turned, turned, 1);
    else if (orientation == 3 || orientation == 7)
        cv::flip(turned, turned, -1);
    else if (orientation == 4 || orientation == 8)
        cv::flip(turned, turned, 0);
    return turned;
}

ai::Result<cv::Mat> decode_jpeg(Bytes file, const std::string& where)
{
    std::unique_ptr<void, decltype(&tjDestroy)> decoder(tjInitDecompress(), tjDestroy);
    int width = 0;
    int height = 0;
    int subsampling = 0;
    int colours = 0;
    auto damaged = [&] {
        return ai::Error{EBADMSG,
                         where + " is a damaged JPEG file: " + tjGetErrorStr2(decoder.get())};
    };

    if (!decoder)
        return ai::Error{ENOMEM, "there is no memory for a JPEG decoder"};
    if (tjDecompressHeader3(decoder.get(), file.data(), file.size(), &width, &height, &subsampling,
                            &colours) != 0)
        return damaged();
    if (width < 1 || height < 1)
        return ai::Error{EBADMSG, where + " is a damaged JPEG file: it holds no picture"};
    if (ai::Result<void> sides = check_sides(static_cast<std::uint64_t>(width),
                                             static_cast<std::uint64_t>(height), where);
        !sides)
        return std::move(sides).error();
    if (colours == TJCS_CMYK || colours == TJCS_YCCK)
        return ai::Error{EOPNOTSUPP, where + " is a JPEG file with CMYK colours for printing, "
                                             "RGB or grey is needed: convert it first"};

    cv::Mat image(height, width, CV_8UC3);
    if (tjDecompress2(decoder.get(), file.data(), file.size(), image.data, width,
                      static_cast<int>(image.step), height, TJPF_BGR, TJFLAG_ACCURATEDCT) != 0)
        return damaged();
    return upright(image, orientation(file));
}

ai::Result<std::vector<unsigned char>> read_file(const std::string& path)
{
    std::error_code unreadable;
    std::uintmax_t size = std::filesystem::file_size(path, unreadable);

    if (unreadable)
        return ai::Error{unreadable.value(), path + " cannot be read: " + unreadable.message()};
    if (size > kMaxFileBytes)
        return ai::Error{EFBIG, path + " has " + std::to_string(size) + " bytes, at most " +
                                    std::to_string(kMaxFileBytes) + " are possible"};
    std::vector<unsigned char> data(size);
    std::ifstream file(path, std::ios::binary);
    if (!file.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(size)))
        return ai::Error{EIO, path + " cannot be read: " + std::generic_category().message(errno)};
    return data;
}

} // namespace

ai::Result<cv::Mat> decode_image(std::span<const unsigned char> file, const std::string& where)
{
    constexpr unsigned char kPng[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    constexpr unsigned char kJpeg[] = {0xff, 0xd8, 0xff};
    auto begins_with = [&](Bytes magic) {
        return file.size() >= magic.size() &&
               std::memcmp(file.data(), magic.data(), magic.size()) == 0;
    };

    if (begins_with(kPng))
        return decode_png(file, where);
    if (begins_with(kJpeg))
        return decode_jpeg(file, where);
    return ai::Error{EBADMSG, where + " is neither a PNG nor a JPEG file"};
}

ai::Result<cv::Mat> read_image(const std::string& path)
{
    return read_file(path).and_then(
        [&](std::vector<unsigned char>&& file) { return decode_image(file, path); });
}

ai::Result<void> write_png(const std::string& path, const cv::Mat& image)
{
    png_image png{};

    png.version = PNG_IMAGE_VERSION;
    png.width = static_cast<png_uint_32>(image.cols);
    png.height = static_cast<png_uint_32>(image.rows);
    png.format = PNG_FORMAT_BGR;
    if (!png_image_write_to_file(&png, path.c_str(), 0, image.data, static_cast<int>(image.step),
                                 nullptr))
        return ai::Error{EIO, path + " cannot be written: " + png.message};
    return {};
}

} // namespace ai_ocr
