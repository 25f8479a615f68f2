#include "kernels/cpu/dnnl/redirect.h"

#if defined(__linux__) && defined(__x86_64__)

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace mpc::kernels {
namespace {

// The program headers, symbols and call relocations of a loaded library.
struct Library {
  uintptr_t base = 0;
  const Elf64_Phdr* headers = nullptr;
  int num_headers = 0;
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
  const Elf64_Rela* calls = nullptr;  // Relocations of function slots.
  size_t num_calls = 0;
  const Elf64_Rela* addresses = nullptr;  // Other relocations.
  size_t num_addresses = 0;

  const Elf64_Phdr* find(uint32_t type) const {
    for (int i = 0; i < num_headers; ++i)
      if (headers[i].p_type == type) return &headers[i];
    return nullptr;
  }
  bool contains(const void* address) const {
    for (int i = 0; i < num_headers; ++i) {
      const uintptr_t begin = base + headers[i].p_vaddr;
      if (headers[i].p_type == PT_LOAD &&
          reinterpret_cast<uintptr_t>(address) - begin < headers[i].p_memsz)
        return true;
    }
    return false;
  }
};

struct Search {
  const void* inside;
  Library library;
};

void read_calls(Library& library, const Elf64_Dyn* entry) {
  for (; entry->d_tag != DT_NULL; ++entry) {
    // glibc relocates the entries of the table to addresses; other C libraries
    // keep offsets.
    const Elf64_Addr value = entry->d_un.d_ptr;
    const Elf64_Addr address =
        value < library.base ? library.base + value : value;
    if (entry->d_tag == DT_SYMTAB)
      library.symbols = reinterpret_cast<const Elf64_Sym*>(address);
    else if (entry->d_tag == DT_STRTAB)
      library.names = reinterpret_cast<const char*>(address);
    else if (entry->d_tag == DT_JMPREL)
      library.calls = reinterpret_cast<const Elf64_Rela*>(address);
    else if (entry->d_tag == DT_PLTRELSZ)
      library.num_calls = value / sizeof(Elf64_Rela);
    else if (entry->d_tag == DT_RELA)
      library.addresses = reinterpret_cast<const Elf64_Rela*>(address);
    else if (entry->d_tag == DT_RELASZ)
      library.num_addresses = value / sizeof(Elf64_Rela);
  }
}

int find_library(dl_phdr_info* info, size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  Library library;
  library.base = info->dlpi_addr;
  library.headers = info->dlpi_phdr;
  library.num_headers = info->dlpi_phnum;
  if (!library.contains(search.inside)) return 0;
  const Elf64_Phdr* dynamic = library.find(PT_DYNAMIC);
  // The main program, which has no name here, need not call through slots.
  if (dynamic && info->dlpi_name[0] != '\0')
    read_calls(library, reinterpret_cast<const Elf64_Dyn*>(library.base +
                                                           dynamic->p_vaddr));
  search.library = library;
  return 1;
}

bool refers_to(const Library& library, const Elf64_Rela& relocation,
               const char* name) {
  const Elf64_Sym& symbol = library.symbols[ELF64_R_SYM(relocation.r_info)];
  return std::strcmp(library.names + symbol.st_name, name) == 0;
}

// Whether the library calls or keeps the address of a function of this name.
bool uses(const Library& library, const char* name) {
  for (size_t i = 0; i < library.num_calls; ++i)
    if (refers_to(library, library.calls[i], name)) return true;
  for (size_t i = 0; i < library.num_addresses; ++i)
    if (refers_to(library, library.addresses[i], name)) return true;
  return false;
}

void** find_slot(const Library& library, const char* name) {
  for (size_t i = 0; i < library.num_calls; ++i) {
    const Elf64_Rela& call = library.calls[i];
    if (ELF64_R_TYPE(call.r_info) != R_X86_64_JUMP_SLOT ||
        !refers_to(library, call, name))
      continue;
    void** slot = reinterpret_cast<void**>(library.base + call.r_offset);
    // A slot that still points into the library has not been bound yet.
    return library.contains(*slot) ? nullptr : slot;
  }
  return nullptr;
}

// Changes the protection of the part that is read-only after relocation.
bool protect(const Library& library, int protection) {
  const Elf64_Phdr* header = library.find(PT_GNU_RELRO);
  if (!header) return true;
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t address = library.base + header->p_vaddr;
  const uintptr_t begin = address / page * page,
                  end = (address + header->p_memsz) / page * page;
  return begin >= end ||
         mprotect(reinterpret_cast<void*>(begin), end - begin, protection) == 0;
}

}  // namespace

bool redirect_calls(const void* inside, Redirection* redirections,
                    size_t count) {
  Search search = {inside, {}};
  dl_iterate_phdr(find_library, &search);
  const Library& library = search.library;
  if (!library.symbols || !library.names || !library.calls) return false;
  std::vector<void**> slots;
  for (size_t i = 0; i < count; ++i) {
    const Redirection& redirection = redirections[i];
    slots.push_back(find_slot(library, redirection.name));
    if (!slots.back() &&
        !(redirection.optional && !uses(library, redirection.name)))
      return false;
  }
  if (!protect(library, PROT_READ | PROT_WRITE)) return false;
  for (size_t i = 0; i < count; ++i) {
    if (!slots[i]) continue;
    redirections[i].before = *slots[i];
    __atomic_store_n(slots[i], redirections[i].replacement, __ATOMIC_RELEASE);
  }
  // The library works even if this fails.
  (void)protect(library, PROT_READ);
  return true;
}

}  // namespace mpc::kernels

#else

namespace mpc::kernels {

bool redirect_calls(const void*, Redirection*, size_t) { return false; }

}  // namespace mpc::kernels

#endif
