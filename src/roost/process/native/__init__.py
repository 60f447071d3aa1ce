"""Macros as machine code: a compiler for the part of JavaScript that works out numbers, through LLVM.

    grammar ──▶ nodes ──▶ translation (kinds, functions) ──▶ assembly ──▶ compiled
                                                                            ▲
                                          tier: which macros, and when  ────┘

It need not know all of JavaScript, nor what goes wrong in it: a run is a function of its inputs, so compiled code may
give up at any point, and the same run is done by quickjs. Only what is surely equal to the bit is compiled.
"""
