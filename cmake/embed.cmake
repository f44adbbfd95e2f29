# Writes OUTPUT, a source file that holds the files that FILES names (a glob expression) as text:
# cmake -DFILES=... -DOUTPUT=... -DHEADER=... -DNAMESPACE=... -DFUNCTION=... -P embed.cmake
# FUNCTION is declared in HEADER and returns a map from a file's name to its text.
file(GLOB files ${FILES})
list(SORT files)
set(source "// Made by embed.cmake.\n#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n\n")
string(APPEND source "const std::map<std::string, std::string_view>& ${FUNCTION}() {\n")
string(APPEND source "  static const std::map<std::string, std::string_view> texts = {\n")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WLE)
  file(READ ${file} text)
  string(APPEND source "      {\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
string(APPEND source "  };\n  return texts;\n}\n\n}  // namespace ${NAMESPACE}\n")
file(WRITE ${OUTPUT} "${source}")
