"""Tests of interface.py: what it says of changed headers."""
import os
import shutil
import subprocess
import tempfile
import unittest

import interface

HEADER = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../src/bindings/duet.h"))


class Headers(unittest.TestCase):
    def test_it_stands_alone_in_c_and_in_cpp(self):
        for language, standard in (("c", "c99"), ("c", "c11"), ("c++", "c++11"), ("c++", "c++17")):
            with tempfile.NamedTemporaryFile("w", suffix="." + language) as file:
                file.write(f'#include "{HEADER}"\nint main(void) {{ return duet_version() == 0; }}\n')
                file.flush()
                subprocess.run(["cc", "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic",
                                "-Wstrict-prototypes" if language == "c" else "-Wshadow", "-Werror",
                                "-fsyntax-only", file.name], check=True)


class Changes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(HEADER) as file:
            cls.text = file.read()
        cls.before = interface.described(HEADER)

    def change(self, old, new, said, breaks):
        self.assertEqual(self.text.count(old), 1, old)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "duet.h")
            with open(path, "w") as file:
                file.write(self.text.replace(old, new))
            now = interface.described(path)
        self.assertEqual(interface.differences(self.before, now), (said, breaks))
        return now

    def test_nothing(self):
        self.change("/* of a driver or library */", "", [], False)

    def test_what_is_appended_breaks_nothing(self):
        self.change("int32_t reserved;    /* 0 */", "int32_t reserved; int64_t further;",
                    ["changed: struct duet_comm_info: struct duet_comm_info: 24 bytes -> struct duet_comm_info: 32 bytes",
                     "added: struct duet_comm_info.further: at 24: int64_t further"], False)
        self.change("DUET_INTERRUPTED = 8", "DUET_INTERRUPTED = 8, DUET_TIRED = 9",
                    ["added: number DUET_TIRED: number DUET_TIRED = 9"], False)

    def test_what_is_inserted_does(self):
        said, breaks = ["changed: struct duet_comm_info: struct duet_comm_info: 24 bytes -> struct duet_comm_info: 32 bytes",
                        "changed: struct duet_comm_info.reserved: at 20: int32_t reserved -> at 24: int32_t reserved",
                        "added: struct duet_comm_info.further: at 20: int32_t further"], True
        now = self.change("int32_t reserved;    /* 0 */", "int32_t further; int32_t reserved; int32_t last;",
                          said + ["added: struct duet_comm_info.last: at 28: int32_t last"], breaks)
        if shutil.which("abidiff"):
            self.assertIn("'int32_t reserved' offset changed from 160 to 192", interface.abidiff(self.before, now))

    def test_other_numbers_arguments_and_functions_do(self):
        self.change("DUET_SUM = 0, DUET_MAX = 1", "DUET_MAX = 0, DUET_SUM = 1",
                    ["changed: number DUET_SUM: number DUET_SUM = 0 -> number DUET_SUM = 1",
                     "changed: number DUET_MAX: number DUET_MAX = 1 -> number DUET_MAX = 0"], True)
        self.change("duet_status_name(duet_status status)", "duet_status_name(int64_t status)",
                    ["changed: duet_status_name: function: const char* duet_status_name(duet_status status) -> "
                     "function: const char* duet_status_name(int64_t status)"], True)
        self.change("DUET_API void duet_text_free(duet_text* text) DUET_NOEXCEPT;", "",
                    ["removed: function: void duet_text_free(duet_text* text)"], True)
        self.change("void (*broadcast)(void* user, void* bytes", "void (*broadcast)(void* user, char* bytes",
                    ["changed: struct duet_bootstrap.broadcast: at 32: void (*broadcast)(void* user, void* bytes, "
                     "uint64_t capacity, uint64_t* length, int32_t* done) -> at 32: void (*broadcast)(void* user, "
                     "char* bytes, uint64_t capacity, uint64_t* length, int32_t* done)"], True)


if __name__ == "__main__":
    unittest.main()
