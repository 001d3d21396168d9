<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http;

use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\StreamInterface;
use Sandlot\Model\Fields;
use Sandlot\Model\Operation;

/** Calls of the control plane. Each change has an Idempotency-Key, so it may be asked for again. */
final class Api
{
    public function __construct(
        private readonly string $url,
        #[\SensitiveParameter] private readonly string $key,
        private readonly Requests $requests,
        private readonly Sender $sender,
        private readonly Timeouts $timeouts,
    ) {
    }

    /** @return array<string, mixed> without the key */
    public function __debugInfo(): array
    {
        return ['url' => $this->url];
    }

    /**
     * @param array<string, string|int> $path what stands for the names in the operation's path
     * @param array<string, string|int|bool|list<string>|null> $query
     * @param \JsonSerializable|null $body
     * @param string|null $idempotencyKey the caller's own; by itself each call has a new one
     *
     * @throws \Sandlot\Exception\SandlotException
     */
    public function call(
        Operation $operation,
        array $path = [],
        array $query = [],
        ?\JsonSerializable $body = null,
        ?string $idempotencyKey = null,
    ): Fields {
        $json = $body === null ? null : $this->requests->json($body);
        $headers = ['Content-Type' => $json === null ? null : 'application/json', 'Accept' => 'application/json'];
        $response = $this->send($operation, $path, $query, $headers, $json, $idempotencyKey, $this->timeouts);
        $text = $response->getBody()->getContents();
        return $text === '' ? new Fields([], $operation->name) : Fields::ofJson($text, $operation->name);
    }

    /**
     * The rows of all pages, asked for as they are needed.
     *
     * @template T of object
     * @param array<string, string|int> $path
     * @param array<string, string|int|bool|list<string>|null> $query
     * @param callable(Fields): T $read
     * @return \Generator<int, T>
     */
    public function pages(Operation $operation, array $path, array $query, string $rows, callable $read): \Generator
    {
        do {
            $page = $this->call($operation, $path, $query);
            foreach ($page->objects($rows, $read) as $row) {
                yield $row;
            }
            $query['next_token'] = $page->stringOrNull('next_token');
        } while ($query['next_token'] !== null);
    }

    /**
     * The bytes of a file, as they come.
     *
     * @param array<string, string|int> $path
     * @param array<string, string|int|bool|list<string>|null> $query
     */
    public function download(Operation $operation, array $path, array $query): StreamInterface
    {
        $headers = ['Accept' => 'application/octet-stream'];
        return $this->send($operation, $path, $query, $headers, null, null, $this->timeouts)->getBody();
    }

    /**
     * @param array<string, string|int> $path
     * @param array<string, string|int|bool|list<string>|null> $query
     * @param string|resource|StreamInterface $content
     */
    public function upload(Operation $operation, array $path, array $query, mixed $content): Fields
    {
        $headers = ['Content-Type' => 'application/octet-stream', 'Accept' => 'application/json'];
        $body = $this->requests->body($content);
        $response = $this->send($operation, $path, $query, $headers, $body, null, $this->timeouts->withAnswer(null));
        return Fields::ofJson($response->getBody()->getContents(), $operation->name);
    }

    /**
     * @param array<string, string|int> $path
     * @param array<string, string|int|bool|list<string>|null> $query
     * @param array<string, string|null> $headers
     */
    private function send(
        Operation $operation,
        array $path,
        array $query,
        array $headers,
        ?StreamInterface $body,
        ?string $idempotencyKey,
        Timeouts $timeouts,
    ): ResponseInterface {
        [$method, $pattern] = explode(' ', $operation->value);
        $place = preg_replace_callback(
            '/\{(\w+)\}/',
            static fn (array $found): string => rawurlencode((string) $path[$found[1]]),
            $pattern,
        );
        if ($method !== 'GET') {
            $headers['Idempotency-Key'] = $idempotencyKey ?? bin2hex(random_bytes(16));
        }
        $headers['Authorization'] = "Bearer {$this->key}";
        $request = $this->requests->make($method, $this->url . $place, $query, $headers, $body);
        return $this->sender->send($request, $timeouts, Repeat::Safe);
    }
}
