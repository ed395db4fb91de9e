"""The picture of the backward graph: torch's beside JAX's, on one layout.

| file          | one idea                                                                  |
|---------------|---------------------------------------------------------------------------|
| `_model.py`   | what a backward graph is, whoever recorded it                             |
| `_collect.py` | a JAX function's graph, read from the jaxpr of its VJP                    |
| `_lanes.py`   | which module an operation belongs to                                      |
| `_fold.py`    | graphs of several settings become one diagram                             |
| `_layout.py`  | where everything is                                                       |
| `_svg.py`     | the picture as text; its colours are in `_style.py`                       |
| `_table.py`   | the same as rows                                                          |

torch's side is `jaxgrad.parity.torch_graph.record`: nothing here imports torch.
"""

from jaxgrad.graph._collect import backward_graph as backward_graph
from jaxgrad.graph._model import ABSENT as ABSENT
from jaxgrad.graph._model import REACHED as REACHED
from jaxgrad.graph._model import RECORDED as RECORDED
from jaxgrad.graph._model import Edge as Edge
from jaxgrad.graph._model import Failure as Failure
from jaxgrad.graph._model import Graph as Graph
from jaxgrad.graph._model import Leaf as Leaf
from jaxgrad.graph._model import Op as Op
from jaxgrad.graph._model import Saved as Saved
from jaxgrad.graph._svg import Setting as Setting
from jaxgrad.graph._svg import side_by_side as side_by_side
