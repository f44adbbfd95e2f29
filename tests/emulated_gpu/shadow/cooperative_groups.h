// Stands before the file of the same name: each row has one block.
#pragma once
