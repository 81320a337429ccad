"""Run a Theano program on termgraph by changing one import: `import termgraph.theano as theano`.

Every module and name of Theano stands in the table `names.py`; modules are made when they are first asked for. What is
not there says why, and what to write instead. See docs/theano.md.
"""

import sys as _sys

from termgraph.theano.modules import TheanoModule as _TheanoModule
from termgraph.theano.modules import adopt as _adopt
from termgraph.theano.modules import install as install

_sys.modules[__name__].__class__ = _TheanoModule
_adopt(_sys.modules[__name__])

__version__ = "1.0.5"  # of the Theano that programs will find here
