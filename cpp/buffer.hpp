// Memory for tables and sums: zero at first unless told otherwise, its rows on cache lines.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace misnomer {

enum class Fill { zero, none };

template <class T>
class Buffer {
  public:
    Buffer() = default;
    explicit Buffer(std::size_t size, Fill fill = Fill::zero) : size_(size) {
        data_ = static_cast<T *>(::operator new(bytes(), alignment()));
#ifdef MADV_HUGEPAGE
        // Words are looked up all over the table: large pages save the search for the page.
        if (bytes() >= large) madvise(data_, bytes(), MADV_HUGEPAGE);
#endif
        if (fill == Fill::zero) std::memset(data_, 0, bytes());
    }
    Buffer(Buffer &&other) noexcept { swap(other); }
    Buffer &operator=(Buffer &&other) noexcept {
        swap(other);
        return *this;
    }
    ~Buffer() {
        if (data_ != nullptr) ::operator delete(data_, alignment());
    }

    T *data() const { return data_; }
    std::size_t size() const { return size_; }
    T &operator[](std::size_t i) const { return data_[i]; }

  private:
    static constexpr std::size_t large = std::size_t{1} << 22, large_page = std::size_t{1} << 21;

    std::align_val_t alignment() const {
        return std::align_val_t{bytes() >= large ? large_page : 64};
    }
    std::size_t bytes() const { return (size_ > 0 ? size_ : 1) * sizeof(T); }
    void swap(Buffer &other) {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }

    T *data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace misnomer
