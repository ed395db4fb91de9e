"""The gallery of traps: silent porting mistakes, each proved wrong and mended."""
