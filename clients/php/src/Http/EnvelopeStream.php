<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http;

use Psr\Http\Message\StreamInterface;
use Sandlot\Exception\ConnectionException;
use Sandlot\Exception\Refusal;
use Sandlot\Exception\StreamCutException;
use Sandlot\Model\Fields;

/**
 * A stream of the Connect protocol: envelopes of one byte of flags, four of length and a JSON message. The
 * last one has the flag of the end and holds the error, if there is one.
 *
 * @internal
 */
final class EnvelopeStream
{
    private const HEAD = 5;
    private const END = 2;

    /** No message of the service is near it. */
    private const LENGTH_MAX = 16 << 20;

    private bool $isOver = false;

    public function __construct(private readonly StreamInterface $body, private readonly string $place)
    {
    }

    public static function pack(string $message, int $flags = 0): string
    {
        return pack('CN', $flags, strlen($message)) . $message;
    }

    /** The next message; null: the stream has ended as it should. */
    public function next(): ?Fields
    {
        if ($this->isOver) {
            return null;
        }
        $head = $this->take(self::HEAD);
        [$flags, $length] = [ord($head), (int) hexdec(bin2hex(substr($head, 1)))];
        if ($length > self::LENGTH_MAX || ($flags !== 0 && $flags !== self::END)) {
            $this->close();
            throw new StreamCutException("{$this->place}: the stream has an envelope that is none of the protocol's.");
        }
        $message = $this->take($length);
        if ($flags !== self::END) {
            return Fields::ofJson($message, $this->place);
        }
        $this->close();
        $error = json_decode($message, true)['error'] ?? null;
        return $error === null ? null : throw Refusal::ofAgent((array) $error, 200);
    }

    public function close(): void
    {
        $this->isOver = true;
        $this->body->close();
    }

    private function take(int $length): string
    {
        $data = '';
        try {
            while (strlen($data) < $length) {
                $piece = $this->body->read($length - strlen($data));
                if ($piece === '' && $this->body->eof()) {
                    throw new StreamCutException("no last message came.");
                }
                $data .= $piece;
            }
        } catch (ConnectionException | StreamCutException $failure) {
            $this->close();
            throw new StreamCutException("{$this->place}: the stream was cut: {$failure->getMessage()}", 0, $failure);
        }
        return $data;
    }
}
