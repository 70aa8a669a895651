// relay takes COUNT messages from queue IN, publishes each to queue OUT with the same properties, headers and body,
// waits for the confirm, acknowledges, and prints the SHA-256 of each body.
// usage: relay URL IN OUT COUNT
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log"
	"os"
	"strconv"

	amqp "github.com/rabbitmq/amqp091-go"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	url, in, out := os.Args[1], os.Args[2], os.Args[3]
	count, err := strconv.Atoi(os.Args[4])
	check(err)
	connection, err := amqp.Dial(url)
	check(err)
	defer connection.Close()
	channel, err := connection.Channel()
	check(err)
	check(channel.Confirm(false))
	check(channel.Qos(10, 0, false))
	confirms := channel.NotifyPublish(make(chan amqp.Confirmation, 1))
	deliveries, err := channel.Consume(in, "relay", false, false, false, false, nil)
	check(err)
	for ; count > 0; count-- {
		d := <-deliveries
		check(channel.PublishWithContext(context.Background(), "", out, true, false, amqp.Publishing{
			Headers: d.Headers, ContentType: d.ContentType, ContentEncoding: d.ContentEncoding, DeliveryMode: d.DeliveryMode,
			Priority: d.Priority, CorrelationId: d.CorrelationId, ReplyTo: d.ReplyTo, Expiration: d.Expiration,
			MessageId: d.MessageId, Timestamp: d.Timestamp, Type: d.Type, UserId: d.UserId, AppId: d.AppId, Body: d.Body,
		}))
		if c := <-confirms; !c.Ack {
			log.Fatal("not confirmed")
		}
		check(d.Ack(false))
		fmt.Printf("%x\n", sha256.Sum256(d.Body))
	}
	check(channel.Cancel("relay", false))
}
