"""The Slack stand-in: one workspace on 127.0.0.1 with a Web API, a page and signed buttons.

May import: the standard library and aiohttp (server side); the client side is standard library only.
Never imported by the product: tests, benchmarks and the demo alone use it.

    workspace   channels, people, messages: the state, no I/O
    api/        the Web API methods and the Block Kit rules
    outgoing/   what Slack sends to an app: interactions, events; and what an app sends back to response_url
    page/       the channel in a browser
    faults      outages, rate limits, lost answers
    server      the process; client starts it and steers it
"""
