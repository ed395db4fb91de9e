"""Small torch modules in many styles, which `jaxgrad.port` ports and proves."""
