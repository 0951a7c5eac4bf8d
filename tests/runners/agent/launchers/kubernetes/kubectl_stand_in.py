"""A function that answers as kubectl does, which costs a tenth of a second less than a process."""

from perfledger_runners.launchers.engine_tool import ToolAnswer

METHODS = {"create": "POST", "get": "GET", "delete": "DELETE"}
# In the words of kubectl 1.32; in CI the same tests run with a real one.
NO_ANSWER = "Unable to connect to the server: EOF"
OTHER_WORDS = {
    "Unauthorized": "error: You must be logged in to the server (Unauthorized)",
    "Invalid": 'The request is invalid: "": {}',
}


def kubectl_stand_in(api):
    """Return a program that sends its requests to this API without a connection."""

    def ask(words, *, text, max_error):
        [path] = [word.removeprefix("--raw=") for word in words if word.startswith("--raw=")]
        answer = api.checked_answer(METHODS[words[1]], path, text)
        if answer is None:
            return ToolAnswer(1, b"", NO_ANSWER)
        code, document = answer
        if code < 400:
            return ToolAnswer(0, api.encoded(document), "")
        reason, message = document["reason"], document["message"]
        usual = f"Error from server ({reason}): {{}}"
        return ToolAnswer(1, b"", OTHER_WORDS.get(reason, usual).format(message)[:max_error])

    return ask
